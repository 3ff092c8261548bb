import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { notificationTypeIds } from '../shared/contracts/notification-types.ts';

/** A number, or its text as the command line gives it. An empty text, such as an unset variable leaves, is none. */
const number = (schema: z.ZodNumber = z.number()) =>
  z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^-?\d+(\.\d+)?$/)
          .transform(Number),
      ],
      'must be a number',
    )
    .pipe(schema);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
const list = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    )
    .pipe(z.array(item));

const httpUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !/[?#]/.test(url), 'must have neither a query nor a fragment');

/** The sender's address until ops set theirs: SES accepts nothing from it. */
export const PLACEHOLDER_SENDER = 'notifications@example.com';

const logRetentions = Object.values(RetentionDays).filter((days): days is number => typeof days === 'number');

/**
 * The settings of a deploy, from CDK context (`-c name=value`, or `context` in `cdk.json`). Each has a default that works;
 * the README's table "Settings" says what each does.
 */
const settingsSchema = z.strictObject({
  mailFrom: z.email().default(PLACEHOLDER_SENDER),
  mailReplyTo: z.email().optional(),
  smsSenderId: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,11}$/)
    .optional(),
  smsOriginationNumber: z.e164().optional(),
  smsMaxPrice: number(z.number().positive()).optional(),
  smsCountries: list(z.string().regex(/^\+[1-9]\d{0,6}$/)).default([]),
  smsPerTenantDay: number(z.number().int().min(0)).default(1_000),
  emailPerTenantDay: number(z.number().int().min(0)).default(10_000),
  managedPerTenantDay: number(z.number().int().min(0)).default(100),
  pagerEndpoint: httpUrl.default('https://events.pagerduty.com/generic/2010-04-15/create_event.json'),
  routerEndpoint: httpUrl.default('https://alert.victorops.com/integrations/generic/20131114/alert'),
  feedEndpoint: httpUrl.optional(),
  deadLetterMail: flag.default(true),
  testsPerDay: number(z.number().int().min(0)).default(200),
  tokenCacheSeconds: number(z.number().min(0).max(60)).default(60),
  apiRequestsPerSecond: number(z.number().int().min(1)).default(200),
  testRequestsPerSecond: number(z.number().int().min(1)).default(10),
  senderConcurrency: number(z.number().int().min(2).max(1000)).default(20),
  typeConcurrency: list(z.string().regex(/^\w+=\d+$/))
    .transform((pairs) => Object.fromEntries(pairs.map((pair) => pair.split('='))))
    .pipe(z.partialRecord(z.enum(notificationTypeIds), number(z.number().int().min(2).max(1000))))
    // A destination that hangs holds a batch for 15 s: there must be more workers than one tenant's burst can hold.
    .default({ webhook: 200, incidentpager: 50, incidentrouter: 50 }),
  dispatchConcurrency: number(z.number().int().min(2).max(1000)).default(10),
  retryScale: number(z.number().min(0).max(1)).default(1),
  egressAllow: list(z.union([z.cidrv4(), z.cidrv6()])).default([]),
  producerAccounts: list(z.string().regex(/^\d{12}$/)).default([]),
  linkScheme: z.enum(['http', 'https']).default('https'),
  logRetentionDays: number()
    .refine((days) => logRetentions.includes(days), `must be one of ${logRetentions.join(', ')}`)
    .default(RetentionDays.ONE_MONTH),
  removalProtection: flag.default(true),
});

/** The settings of a deploy, parsed. */
export type Settings = z.output<typeof settingsSchema>;

/** The names of all settings, for the documentation's test. */
export const settingNames = Object.keys(settingsSchema.shape);

/** What `cdk acknowledge` and `cdk cli-telemetry` keep in the context. */
const CLI_KEYS = ['acknowledged-issue-numbers', 'cli-telemetry'];

/** CDK's other context keys hold a colon or a slash (`aws:cdk:…`, `@aws-cdk/…`); a setting's name holds neither. */
const isSetting = (key: string): boolean => !/[:/]/.test(key) && !CLI_KEYS.includes(key);

const describe = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' && issue.path.length === 0
    ? `${issue.keys.map((key) => `"${key}"`).join(', ')} is not a setting; there are ${settingNames.join(', ')}`
    : `${issue.path.join('.')}: ${issue.message}`;

/** Reads the settings. @throws Error with one sentence for each that is wrong or misspelt */
export const parseSettings = (context: Readonly<Record<string, unknown>>): Settings => {
  const given = Object.fromEntries(Object.entries(context).filter(([key]) => isSetting(key)));
  const parsed = settingsSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Error(`Wrong setting: ${parsed.error.issues.map(describe).join('. ')}`);
};
