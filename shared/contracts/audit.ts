import * as z from 'zod/mini';
import type { EndpointName, endpoints } from './endpoints.ts';

/** Maximum length of `who` and `why` in an audit entry, in code points. Longer texts are truncated. */
export const MAX_AUDIT_TEXT_LENGTH = 255;

/** The name of an operation that leaves an audit entry: all except reads. */
export type AuditedEndpoint = {
  [Name in EndpointName]: (typeof endpoints)[Name]['method'] extends 'GET' ? never : Name;
}[EndpointName];

/** What an audit entry records: an operation of the API, or what only recipients or operators do. */
export type AuditAction =
  | AuditedEndpoint
  | 'opt-out'
  | 'resume-email'
  | 'recount-notifications'
  | 'redrive-dead-letters'
  | 'purge-dead-letters'
  | 'delete-tenant';

/** A change, as its audit entry describes it. */
export type AuditedChange = {
  action: AuditAction;
  /** The ID of the notification, token or account, or the short hash of a recipient. Absent for a destination that is not stored. */
  target_id?: string;
  /** The names of the attributes that were set, never their values. Default: none */
  changed?: readonly string[];
};

const contextFields = {
  /** The token of a tenant, the IAM principal of an operator, which tenants do not see, or the recipient of emails. */
  actor: z.discriminatedUnion('type', [
    z.object({ type: z.literal('token'), id: z.string(), label: z.string() }),
    z.object({ type: z.literal('operator'), principal: z.string() }),
    z.object({ type: z.literal('recipient') }),
  ]),
  request_id: z.optional(z.string()),
  ip_address: z.optional(z.string()),
  /** The query parameter `_who` of the request. */
  who: z.optional(z.string()),
  /** The query parameter `_why` of the request. */
  why: z.optional(z.string()),
};

/** Who makes a change, and with which request. */
export type ChangeContext = z.infer<z.ZodMiniObject<typeof contextFields>>;

const storedAudit = z.object({
  /** `au` and a ULID, which starts with the time, so that entries sort by time. */
  id: z.string(),
  action: z.string(),
  target_id: z.optional(z.string()),
  changed: z._default(z.array(z.string()), []),
  ...contextFields,
});

/** A stored audit entry. */
export type StoredAudit = z.infer<typeof storedAudit>;

/** Parses the item of an audit entry, whose sort key is the ID. @throws ZodError */
export const parseStoredAudit = ({ sk, ...item }: Readonly<Record<string, unknown>>): StoredAudit =>
  storedAudit.parse({ ...item, id: sk });
