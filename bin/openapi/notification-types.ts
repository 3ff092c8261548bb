import * as z from 'zod';
import type { ZodMiniType } from 'zod/mini';
import { MAX_DETAILS_VALUE_LENGTH } from '../../shared/contracts/notification.ts';
import {
  emailAddress,
  type NotificationTypeId,
  type notificationTypes,
} from '../../shared/contracts/notification-types.ts';

/** The format of a field in `details`, and its value in examples, which omit a field without one. */
export type DescribedField = { readonly format: z.ZodType<string> | ZodMiniType<string>; readonly example?: string };

/** What OpenAPI needs of each type: the label of its example, and its fields. The compiler requires every field. */
type DescribedTypes = {
  readonly [Type in NotificationTypeId]: {
    readonly label: string;
    readonly fields: {
      readonly [Field in keyof NonNullable<(typeof notificationTypes)[Type]['fields']>]: DescribedField;
    };
  };
};

/** The parser accepts what the URL parser of Node.js accepts, of which a pattern can express only the scheme. */
const httpUrl = z
  .string()
  .max(MAX_DETAILS_VALUE_LENGTH)
  .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:\\S+$' });

/**
 * The formats of the fields in `details`, which the parser checks with functions, and an example of each. A test
 * compares parser and formats for generated values; other tests use the examples of required fields as destinations.
 */
export const describedTypes: DescribedTypes = {
  email: { label: 'On call', fields: { address: { format: emailAddress(), example: 'oncall@example.com' } } },
  webhook: { label: 'Alert hook', fields: { url: { format: httpUrl, example: 'https://hooks.example.com/alerts' } } },
  incidentpager: {
    label: 'Pager',
    fields: {
      service_key: {
        format: z.string().regex(/^[a-zA-Z0-9]{1,32}$/),
        example: '0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e',
      },
      service_endpoint: { format: httpUrl },
    },
  },
  sms: { label: 'Night shift', fields: { phone_number: { format: z.e164(), example: '+12025550123' } } },
  incidentrouter: {
    label: 'Router',
    fields: {
      api_key: { format: z.uuidv4(), example: '9b2f6c1e-4d3a-4e5f-8a7b-1c2d3e4f5a6b' },
      routing_key: {
        format: z
          .string()
          .max(MAX_DETAILS_VALUE_LENGTH)
          .regex(/^(?!\.{1,2}$)[a-zA-Z0-9_.-]+$/),
        example: 'database-team',
      },
    },
  },
  atomfeed: {
    label: 'Feed',
    fields: { category: { format: z.string().min(1).max(MAX_DETAILS_VALUE_LENGTH), example: 'databases' } },
  },
  technicalContactsEmail: { label: 'Technical contacts', fields: {} },
  managed: { label: 'Operators', fields: {} },
};

/** Returns the fields of a type by name. */
export const describedFields = (type: NotificationTypeId): Readonly<Record<string, DescribedField>> =>
  describedTypes[type].fields;

/** Returns the `details` of the examples of a type. */
export const exampleDetails = (type: NotificationTypeId): Record<string, string> =>
  Object.fromEntries(
    Object.entries(describedFields(type)).flatMap(([name, { example }]) =>
      example === undefined ? [] : [[name, example]],
    ),
  );
