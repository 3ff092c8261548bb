import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { escalationModes } from '../shared/contracts/notice.ts';
import { notificationTypeIds } from '../shared/contracts/notification-types.ts';

/**
 * A number or a numeric string, as `cdk -c` passes it. Rejects an empty string, which an unset shell variable yields.
 */
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

const httpUrl = z.url({ protocol: /^https?$/ }).refine((url) => !/[?#]/.test(url), 'must have no query or fragment');

const hostname = z.hostname().regex(/^[^.]+(\.[^.]+)+$/, 'must be a host name');

/** Values by notification type, written `type=value,...`. */
const perType = (value: z.ZodType<number, string | number>) =>
  list(z.string().regex(/^\w+=\d+$/))
    .transform((pairs) => Object.fromEntries(pairs.map((pair) => pair.split('='))))
    .pipe(z.partialRecord(z.enum(notificationTypeIds), value));

/** The tables of the service, by their construct IDs in `Storage`. */
const tableIds = ['Notifications', 'Accounts', 'Tokens', 'Deliveries'] as const;

/** Names of tables, written `Table=name,...`. The names follow the rules of DynamoDB. */
const tableNames = list(
  z
    .string()
    .regex(
      new RegExp(`^(${tableIds.join('|')})=[\\w.-]{3,255}$`),
      `must have the form Table=name; the tables are ${tableIds.join(', ')}`,
    ),
)
  .transform((pairs) => Object.fromEntries(pairs.map((pair) => pair.split('='))))
  .pipe(z.partialRecord(z.enum(tableIds), z.string()));

/** The memory of a function in MB, within the limits of Lambda. */
const memoryMb = number(z.number().int().min(128).max(10_240));

/** The default sender address. SES sends no email from it. */
export const PLACEHOLDER_SENDER = 'notifications@example.com';

const logRetentions = Object.values(RetentionDays).filter((days): days is number => typeof days === 'number');

/**
 * The settings of a deployment, from CDK context (`-c name=value`, or `context` in `cdk.json`). All are optional;
 * OPERATIONS.md#settings describes them.
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
  failingNotices: flag.default(true),
  escalateUnreached: z.enum(escalationModes).default('contacts+managed'),
  notificationsPerTenant: number(z.number().int().min(1)).default(1_000),
  testsPerTenantPerDay: number(z.number().int().min(0)).default(200),
  redeliveriesPerTenantPerDay: number(z.number().int().min(0)).default(10_000),
  tokenCacheSeconds: number(z.number().min(0).max(60)).default(60),
  apiRequestsPerSecond: number(z.number().int().min(1)).default(200),
  testRequestsPerSecond: number(z.number().int().min(1)).default(100),
  senderConcurrency: number(z.number().int().min(2).max(1000)).default(20),
  senderConcurrencyByType: perType(number(z.number().int().min(2).max(1000)))
    // A destination that does not respond blocks a worker for 15 s. With this many workers, one tenant's burst does not
    // block all of them.
    .default({ webhook: 200, incidentpager: 50, incidentrouter: 50 }),
  dispatchConcurrency: number(z.number().int().min(2).max(1000)).default(10),
  retryDelayScale: number(z.number().min(0).max(1)).default(1),
  egressAllow: list(z.union([z.cidrv4(), z.cidrv6()])).default([]),
  producerAccounts: list(z.string().regex(/^\d{12}$/)).default([]),
  domainName: hostname.optional(),
  certificateArn: z
    .string()
    .regex(/^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, 'must be the ARN of an ACM certificate')
    .optional(),
  hostedZoneId: z
    .string()
    .regex(/^Z[A-Z0-9]+$/)
    .optional(),
  hostedZoneName: hostname.optional(),
  basePath: z
    .string()
    .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'must be path segments of letters, digits, ".", "_" and "-", separated by slashes')
    .max(300)
    .optional(),
  emailIdentity: flag.default(false),
  egress: z.enum(['lambda', 'static']).default('lambda'),
  memoryMb: memoryMb.default(512),
  memoryMbByType: perType(memoryMb).default({}),
  alarmTarget: z
    .union(
      [z.email(), z.string().regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/)],
      'must be an email address or the ARN of an SNS topic',
    )
    .optional(),
  smsMonthlyBudgetUsd: number(z.number().positive()).default(1),
  lambdaConcurrencyQuota: number(z.number().int().min(1)).default(1_000),
  linkScheme: z.enum(['http', 'https']).default('https'),
  logRetentionDays: number()
    .refine((days) => logRetentions.includes(days), `must be one of ${logRetentions.join(', ')}`)
    .default(RetentionDays.ONE_MONTH),
  deletionProtection: flag.default(true),
  existingTables: tableNames.default({}),
});

/** The parsed settings of a deployment. */
export type Settings = z.output<typeof settingsShape>;

/**
 * Rules that involve several settings: the setting to report, the message, and the condition that violates the rule.
 */
const combinationRules: [name: keyof Settings, message: string, isViolated: (settings: Settings) => boolean][] = [
  ['certificateArn', 'is required with domainName', (s) => !!s.domainName && !s.certificateArn],
  ['domainName', 'is required with certificateArn', (s) => !!s.certificateArn && !s.domainName],
  ['domainName', 'is required with basePath', (s) => !!s.basePath && !s.domainName],
  ['domainName', 'is required with hostedZoneId', (s) => !!s.hostedZoneId && !s.domainName],
  ['hostedZoneName', 'is required with hostedZoneId', (s) => !!s.hostedZoneId && !s.hostedZoneName],
  ['hostedZoneId', 'is required with hostedZoneName', (s) => !!s.hostedZoneName && !s.hostedZoneId],
  [
    'domainName',
    'must be in the zone hostedZoneName',
    (s) => !!s.hostedZoneName && !isInZone(s.domainName, s.hostedZoneName),
  ],
  ['emailFrom', 'is required with emailIdentity', (s) => s.emailIdentity && s.emailFrom === PLACEHOLDER_SENDER],
];

const isInZone = (domain: string | undefined, zone: string): boolean =>
  domain === undefined || `.${domain}`.endsWith(`.${zone}`);

const settingsSchema = settingsShape.superRefine((settings, context) => {
  for (const [name, message, isViolated] of combinationRules) {
    if (isViolated(settings)) context.addIssue({ code: 'custom', path: [name], message });
  }
});

/** The names of all settings. */
export const settingNames = Object.keys(settingsShape.shape);

/** Context keys of `cdk acknowledge` and `cdk cli-telemetry`. */
const CLI_KEYS = ['acknowledged-issue-numbers', 'cli-telemetry'];

/**
 * All other context keys of the CDK contain a colon or a slash (`aws:cdk:…`, `@aws-cdk/…`); names of settings do not.
 */
const isSetting = (key: string): boolean => !/[:/]/.test(key) && !CLI_KEYS.includes(key);

const describe = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' && issue.path.length === 0
    ? `${issue.keys.map((key) => `"${key}"`).join(', ')} is not a setting; the settings are ${settingNames.join(', ')}`
    : `${issue.path.join('.')}: ${issue.message}`;

/**
 * Parses the settings in a CDK context.
 *
 * @throws Error with one sentence for each invalid or unknown setting
 */
export const parseSettings = (context: Readonly<Record<string, unknown>>): Settings => {
  const settings = Object.fromEntries(Object.entries(context).filter(([key]) => isSetting(key)));
  const parsed = settingsSchema.safeParse(settings);
  if (parsed.success) return parsed.data;
  throw new Error(`Invalid setting: ${parsed.error.issues.map(describe).join('. ')}`);
};
