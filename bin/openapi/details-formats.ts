import * as z from 'zod';
import type { ZodMiniType } from 'zod/mini';
import { MAX_DETAILS_VALUE_LENGTH } from '../../shared/contracts/notification.ts';
import {
  emailAddress,
  type NotificationTypeId,
  type notificationTypes,
} from '../../shared/contracts/notification-types.ts';

/** The format of a text. */
export type TextFormat = z.ZodType<string> | ZodMiniType<string>;

/** The JSON Schema of each field of a type. The compiler requires one for every field. */
type Formats = {
  readonly [Type in NotificationTypeId]: {
    readonly [Field in keyof NonNullable<(typeof notificationTypes)[Type]['fields']>]: TextFormat;
  };
};

/** The parser accepts what the URL parser of Node.js accepts, of which a pattern can express only the scheme. */
const httpUrl = z
  .string()
  .max(MAX_DETAILS_VALUE_LENGTH)
  .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:\\S+$' });

/**
 * The formats of the fields in `details`, which the parser checks with functions. A test compares both for generated
 * values.
 */
export const detailsFormats: Formats = {
  email: { address: emailAddress() },
  webhook: { url: httpUrl },
  incidentpager: { service_key: z.string().regex(/^[a-zA-Z0-9]{1,32}$/), service_endpoint: httpUrl },
  sms: { phone_number: z.e164() },
  incidentrouter: {
    api_key: z.uuidv4(),
    routing_key: z
      .string()
      .max(MAX_DETAILS_VALUE_LENGTH)
      .regex(/^(?!\.{1,2}$)[a-zA-Z0-9_.-]+$/),
  },
  atomfeed: { category: z.string().min(1).max(MAX_DETAILS_VALUE_LENGTH) },
  technicalContactsEmail: {},
  managed: {},
};
