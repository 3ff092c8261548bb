import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRecipients, type TriedCode } from '../../../shared/adapters/accounts/recipients.ts';
import { CODE_VALIDITY_MS, MAX_CODE_TRIES, MAX_CODES_PER_DAY } from '../../../shared/domain/recipient.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withLostResponse } from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const START = Date.UTC(2026, 0, 1);
let tenants = 0;

const entry = () => audit({ action: 'verify-notification' });

const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

const setUp = (database = client) => {
  const tenant = `verifier${tenants++}`;
  const address = `${tenant}@example.com`;
  let nowMs = START;
  const recipients = createRecipients(database, 'accounts', () => nowMs);
  const issue = async (replaces = true): Promise<string> => {
    const issued = await recipients.issue(tenant, address, replaces);
    return issued.kind === 'issued' ? issued.code : issued.kind;
  };
  return {
    tenant,
    address,
    recipients,
    issue,
    enter: (code: string) => recipients.tryCode(tenant, address, code, entry()),
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
};

describe('the code of a recipient', () => {
  it('verifies the recipient of this tenant only, for good', async () => {
    const { tenant, address, recipients, issue, enter, advance } = setUp();
    const code = await issue();
    expect(code).toMatch(/^\d{6}$/);
    expect(await recipients.tryCode('another', address, code, entry())).toEqual({ kind: 'no_code' });
    expect(await recipients.tryCode(tenant, 'other@example.com', code, entry())).toEqual({ kind: 'no_code' });
    expect(await enter(code)).toEqual({ kind: 'verified' });
    advance(400 * CODE_VALIDITY_MS);
    const stateOf = await recipients.read(tenant, [address, address.toUpperCase(), 'other@example.com']);
    expect(stateOf(address.toUpperCase())).toBe('verified');
    expect(stateOf('other@example.com')).toBe('unverified');
    expect(await issue()).toBe('not_needed');
  });

  it('has ten tries, of which none is lost if all come at once', async () => {
    const { issue, enter } = setUp();
    const wrong = otherThan(await issue());
    const tried = await Promise.all(Array.from({ length: 15 }, () => enter(wrong)));
    const left = (each: TriedCode) => (each.kind === 'wrong' ? [each.triesLeft] : []);
    expect(tried.flatMap(left).toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('verifies once if it is entered twice at once, or if the response of the database is lost', async () => {
    const { issue, enter } = setUp();
    const code = await issue();
    expect(await Promise.all([enter(code), enter(code)])).toEqual([{ kind: 'verified' }, { kind: 'verified' }]);
    const lossy = setUp(withLostResponse(connect(), 'TransactWriteItemsCommand'));
    const other = await lossy.issue();
    expect(await lossy.enter(other)).toEqual({ kind: 'verified' });
  });

  it('that is replaced while it is compared verifies nobody', async () => {
    const { recipients, tenant, address, issue } = setUp();
    const code = await issue();
    let isReplaced = false;
    const database = connect();
    database.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          if (commandName === 'TransactWriteItemsCommand' && !isReplaced) {
            isReplaced = true;
            await issue();
          }
          return next(args);
        },
      { step: 'initialize' },
    );
    const concurrent = createRecipients(database, 'accounts', () => START);
    expect(await concurrent.tryCode(tenant, address, code, entry())).toEqual({ kind: 'no_code' });
    expect(await recipients.isVerified(tenant, address)).toBe(false);
  });
});

type Step = { do: 'send' | 'resend' | 'right' | 'wrong' } | { do: 'wait'; hours: number };

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Step>({ do: 'send' }, { do: 'resend' }) },
  { weight: 6, arbitrary: fc.constant<Step>({ do: 'wrong' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'right' }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }).map((hours): Step => ({ do: 'wait', hours })) },
);

it('codes, tries and days are counted as a plain model counts them, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { recipients, tenant, address, issue, enter, advance } = setUp();
      const HOUR_MS = 3_600_000;
      let [hour, sentToday, tries, sentAt, isVerified] = [0, 0, 0, Number.NEGATIVE_INFINITY, false];
      let code = '';
      const isLive = () => hour - sentAt < 24 && tries < MAX_CODE_TRIES;
      for (const each of steps) {
        if (each.do === 'wait') {
          const days = Math.floor((hour + each.hours) / 24) - Math.floor(hour / 24);
          hour += each.hours;
          advance(each.hours * HOUR_MS);
          if (days > 0) sentToday = 0;
        } else if (each.do === 'send' || each.do === 'resend') {
          const issued = await issue(each.do === 'resend');
          if (isVerified || (each.do === 'send' && isLive())) expect(issued).toBe('not_needed');
          else if (sentToday === MAX_CODES_PER_DAY) expect(issued).toBe('limit');
          else {
            expect(issued).toMatch(/^\d{6}$/);
            [code, sentAt, tries] = [issued, hour, 0];
            sentToday++;
          }
        } else {
          const tried = await enter(each.do === 'right' ? code : otherThan(code));
          const wasLive = isLive();
          if (isVerified) expect(tried).toEqual({ kind: 'verified' });
          else if (!wasLive) expect(tried).toEqual({ kind: 'no_code' });
          else if (each.do === 'right') expect(tried).toEqual({ kind: 'verified' });
          else expect(tried).toEqual({ kind: 'wrong', triesLeft: MAX_CODE_TRIES - tries - 1 });
          if (wasLive) tries++;
          isVerified ||= wasLive && each.do === 'right';
        }
        expect(await recipients.isVerified(tenant, address)).toBe(isVerified);
      }
    }),
    { numRuns: 30 },
  );
});
