import { createAccountRepository } from '../../adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../../adapters/aws-client.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { type Transport, withAlarmUrl } from '../../domain/transport.ts';
import { parseEnvironment, type SenderName, senderName } from '../../environment.ts';
import { createSender, type SenderOptions } from './sender.ts';

/**
 * Returns what the function of a sender needs: its parsed environment, a DynamoDB client, the accounts, and `sender`,
 * which creates its handler.
 */
export const senderFunction = <Type extends NotificationTypeId>(type: Type) => {
  const client = createDocumentClient();
  // The compiler knows the variables that all senders have only if the type is open.
  const shared = parseEnvironment<SenderName>(senderName(type));
  const accounts = createAccountRepository(client, shared.ACCOUNTS_TABLE);
  return {
    environment: parseEnvironment(senderName(type)),
    client,
    accounts,
    sender: (transport: Transport, options?: SenderOptions) =>
      createSender(type, client, accounts, shared, withAlarmUrl(transport, shared.ALARM_URL), options),
  };
};
