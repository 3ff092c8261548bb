import * as z from 'zod/mini';
import type { EndpointName, endpoints } from './endpoints.ts';

/** In code points. Longer texts are truncated. */
export const MAX_AUDIT_TEXT_LENGTH = 255;

/** Operations that leave an audit entry: all except reads. */
export type AuditedEndpoint = {
  [Name in EndpointName]: (typeof endpoints)[Name]['method'] extends 'GET' ? never : Name;
}[EndpointName];

/** Operations of the API, and what only recipients or operators do. */
export type AuditAction =
  | AuditedEndpoint
  | 'opt-out'
  | 'resume-email'
  | 'recount-notifications'
  | 'redrive-dead-letters'
  | 'purge-dead-letters'
  | 'delete-tenant';

export type AuditedChange = {
  action: AuditAction;
  /** A notification, token, account or hash of a recipient. Absent for a destination that is not stored. */
  target_id?: string;
  /** The names of attributes, never their values. */
  changed?: readonly string[];
};

const contextFields = {
  /** Tenants do not see the IAM principal of an operator. */
  actor: z.discriminatedUnion('type', [
    z.object({ type: z.literal('token'), id: z.string(), label: z.string() }),
    z.object({ type: z.literal('operator'), principal: z.string() }),
    z.object({ type: z.literal('recipient') }),
  ]),
  request_id: z.optional(z.string()),
  ip_address: z.optional(z.string()),
  /** Query parameters of the request. */
  who: z.optional(z.string()),
  why: z.optional(z.string()),
};

export type ChangeContext = z.infer<z.ZodMiniObject<typeof contextFields>>;

const storedAudit = z.object({
  /** `au` and a ULID, so that entries sort by time. */
  id: z.string(),
  action: z.string(),
  target_id: z.optional(z.string()),
  changed: z._default(z.array(z.string()), []),
  ...contextFields,
});

export type StoredAudit = z.infer<typeof storedAudit>;

/** The sort key of the item is the ID. @throws ZodError */
export const parseStoredAudit = ({ sk, ...item }: Readonly<Record<string, unknown>>): StoredAudit =>
  storedAudit.parse({ ...item, id: sk });
