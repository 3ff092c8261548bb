import type { MessageKind } from '../message.ts';

/** The names of the kinds, in the order of the filters. */
export const kindNames: Record<MessageKind, string> = {
  email: 'Email',
  sms: 'SMS',
  webhook: 'Webhook',
  incidentpager: 'Pager',
  incidentrouter: 'Router',
  atomfeed: 'Feed',
  managed: 'Operators',
};
