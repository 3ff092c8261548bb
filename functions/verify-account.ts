import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createCodeRequests } from '../shared/api/code-requests.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { jsonBody, validBody } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { createVerification, whenVerifying } from '../shared/api/verification.ts';
import { contactVerificationBody } from '../shared/contracts/verification.ts';
import { unknownContact } from '../shared/domain/errors.ts';
import { isSameRecipient } from '../shared/domain/recipient.ts';

const { environment, client, endpoint } = apiFunction('verify-account');
const audits = createAuditLog(client, environment);
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const codes = createCodeRequests(client, environment);

/** POST /account/verify: 200 with whether the technical contact is verified. */
export const handler = endpoint(
  (request) => ({
    codes: whenVerifying(codes),
    ...validBody(request, jsonBody(request), contactVerificationBody),
  }),
  async ({ codes, address, ...verification }, caller) => {
    const { tenant } = caller;
    const recipient = { type: 'email', address } as const;
    const isContact = (contact: string): boolean => isSameRecipient({ type: 'email', address: contact }, recipient);
    const { contacts, contactsToVerify } = await accounts.technicalContacts(tenant);
    if (!contacts.some(isContact)) throw unknownContact();
    if (!contactsToVerify.some(isContact)) return ok({ verified: true });
    const change = { action: 'verify-account', target_id: tenant } as const;
    return ok(
      await createVerification(codes)(tenant, recipient, verification, {
        entry: () => audits.by(caller)(change),
        record: () => audits.record(caller, change),
      }),
    );
  },
);
