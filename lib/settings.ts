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

const hostname = z.hostname().regex(/^[^.]+(\.[^.]+)+$/, 'must be a host name');

/** Values of single types, as `type=value,...`. */
const perType = (value: z.ZodType<number, string | number>) =>
  list(z.string().regex(/^\w+=\d+$/))
    .transform((pairs) => Object.fromEntries(pairs.map((pair) => pair.split('='))))
    .pipe(z.partialRecord(z.enum(notificationTypeIds), value));

/** What Lambda takes, in MB. */
const memory = number(z.number().int().min(128).max(10_240));

/** The sender's address until ops set theirs: SES accepts nothing from it. */
export const PLACEHOLDER_SENDER = 'notifications@example.com';

const logRetentions = Object.values(RetentionDays).filter((days): days is number => typeof days === 'number');

/**
 * The settings of a deploy, from CDK context (`-c name=value`, or `context` in `cdk.json`). Each has a default that works;
 * the README's table "Settings" says what each does.
 */
const settingsShape = z.strictObject({
  emailFrom: z.email().default(PLACEHOLDER_SENDER),
  emailReplyTo: z.email().optional(),
  smsSenderId: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,11}$/)
    .optional(),
  smsOriginationNumber: z.e164().optional(),
  smsMaxPriceUsd: number(z.number().positive()).optional(),
  smsCountries: list(z.string().regex(/^\+[1-9]\d{0,6}$/)).default([]),
  smsPerTenantPerDay: number(z.number().int().min(0)).default(1_000),
  emailsPerTenantPerDay: number(z.number().int().min(0)).default(10_000),
  managedPerTenantPerDay: number(z.number().int().min(0)).default(100),
  pagerEndpoint: httpUrl.default('https://events.pagerduty.com/generic/2010-04-15/create_event.json'),
  routerEndpoint: httpUrl.default('https://alert.victorops.com/integrations/generic/20131114/alert'),
  feedEndpoint: httpUrl.optional(),
  deadLetterEmail: flag.default(true),
  notificationsPerTenant: number(z.number().int().min(1)).default(1_000),
  testsPerTenantPerDay: number(z.number().int().min(0)).default(200),
  tokenCacheSeconds: number(z.number().min(0).max(60)).default(60),
  apiRequestsPerSecond: number(z.number().int().min(1)).default(200),
  testRequestsPerSecond: number(z.number().int().min(1)).default(100),
  senderConcurrency: number(z.number().int().min(2).max(1000)).default(20),
  senderConcurrencyByType: perType(number(z.number().int().min(2).max(1000)))
    // A destination that hangs holds a batch for 15 s: there must be more workers than one tenant's burst can hold.
    .default({ webhook: 200, incidentpager: 50, incidentrouter: 50 }),
  dispatchConcurrency: number(z.number().int().min(2).max(1000)).default(10),
  retryDelayScale: number(z.number().min(0).max(1)).default(1),
  egressAllow: list(z.union([z.cidrv4(), z.cidrv6()])).default([]),
  producerAccounts: list(z.string().regex(/^\d{12}$/)).default([]),
  domainName: hostname.optional(),
  certificateArn: z
    .string()
    .regex(/^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, 'must be the ARN of a certificate')
    .optional(),
  hostedZoneId: z
    .string()
    .regex(/^Z[A-Z0-9]+$/)
    .optional(),
  hostedZoneName: hostname.optional(),
  basePath: z
    .string()
    .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'must be segments of letters, digits and . _ - with slashes between them')
    .max(300)
    .optional(),
  emailIdentity: flag.default(false),
  egress: z.enum(['lambda', 'static']).default('lambda'),
  memoryMb: memory.default(512),
  memoryMbByType: perType(memory).default({}),
  alarmTarget: z
    .union(
      [z.email(), z.string().regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/)],
      'must be an email address or the ARN of a topic',
    )
    .optional(),
  smsMonthlyBudgetUsd: number(z.number().positive()).default(1),
  lambdaConcurrencyQuota: number(z.number().int().min(1)).default(1_000),
  linkScheme: z.enum(['http', 'https']).default('https'),
  logRetentionDays: number()
    .refine((days) => logRetentions.includes(days), `must be one of ${logRetentions.join(', ')}`)
    .default(RetentionDays.ONE_MONTH),
  deletionProtection: flag.default(true),
});

/** The settings of a deploy, parsed. */
export type Settings = z.output<typeof settingsShape>;

/** What must be said of settings together: the setting to blame, and why, where that is the case. */
const combinations: [keyof Settings, string, (settings: Settings) => boolean][] = [
  ['certificateArn', 'is needed with domainName', (s) => !!s.domainName && !s.certificateArn],
  ['domainName', 'is needed with certificateArn', (s) => !!s.certificateArn && !s.domainName],
  ['domainName', 'is needed with basePath', (s) => !!s.basePath && !s.domainName],
  ['domainName', 'is needed with hostedZoneId', (s) => !!s.hostedZoneId && !s.domainName],
  ['hostedZoneName', 'is needed with hostedZoneId', (s) => !!s.hostedZoneId && !s.hostedZoneName],
  ['hostedZoneId', 'is needed with hostedZoneName', (s) => !!s.hostedZoneName && !s.hostedZoneId],
  ['domainName', 'must lie in hostedZoneName', (s) => !!s.hostedZoneName && !liesIn(s.domainName, s.hostedZoneName)],
  ['emailFrom', 'is needed with emailIdentity', (s) => s.emailIdentity && s.emailFrom === PLACEHOLDER_SENDER],
];

const liesIn = (domain: string | undefined, zone: string): boolean =>
  domain === undefined || `.${domain}`.endsWith(`.${zone}`);

const settingsSchema = settingsShape.superRefine((settings, context) => {
  for (const [name, message, isWrong] of combinations) {
    if (isWrong(settings)) context.addIssue({ code: 'custom', path: [name], message });
  }
});

/** The names of all settings, for the documentation's test. */
export const settingNames = Object.keys(settingsShape.shape);

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
