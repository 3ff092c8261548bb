import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { ALARM_URL_PLACEHOLDER } from '../shared/contracts/event-header.ts';
import { type NotificationTypeId, notificationTypeIds } from '../shared/contracts/notification-types.ts';
import { escalationModes } from '../shared/contracts/outcomes.ts';
import { type LimitName, limitNames, minimumLimit } from '../shared/contracts/tenant-limits.ts';
import { nearestName } from '../shared/contracts/unknown-names.ts';

/** `rule` completes the sentence that begins with the name of the setting. No message of zod reaches the user. */
const setting = <Value>(rule: string, schema: z.ZodType<Value>) =>
  z.unknown().transform((value, context): Value => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    context.addIssue({ code: 'custom', message: `${rule}, not ${JSON.stringify(value)}` });
    return z.NEVER;
  });

/** A number or a numeric string, as `cdk -c` passes it. Not an empty string, which an unset shell variable yields. */
const numeric = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number),
]);

const number = (rule: string, schema: z.ZodNumber) => setting(rule, numeric.pipe(schema));

const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  number(
    `must be a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}`,
    z.number().int().min(min).max(max),
  );

/** Operators can override it for one tenant within the same range. */
const tenantLimit = (name: LimitName) => wholeNumber(minimumLimit(name));

const numberUpTo = (max: number) => number(`must be a number from 0 to ${max}`, z.number().min(0).max(max));

const positiveNumber = () => number('must be a number greater than 0', z.number().positive());

const flag = () =>
  setting(
    'must be true or false',
    z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]),
  );

const choice = <const Option extends string>(...options: readonly Option[]) =>
  setting(`must be one of ${options.join(', ')}`, z.enum(options));

const text = (rule: string, pattern: RegExp) => setting(rule, z.string().regex(pattern));

/** The longest text of a list, and of a URL, in the environment variables of a function, which have 4 KB together. */
const MAX_LIST_LENGTH = 700;
const MAX_URL_LENGTH = 200;

const commaSeparated = z.string().transform((given) =>
  given
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
);

/** `items` completes "must be a comma-separated list of". */
const list = (items: string, schema: z.ZodType<string[], string[]>) =>
  setting(`must be a comma-separated list of ${items}`, commaSeparated.pipe(schema));

const listForFunction = (items: string, item: z.ZodType<string, string>) =>
  list(
    `at most ${MAX_LIST_LENGTH} characters with ${items}`,
    z.array(item).refine((values) => values.join(',').length <= MAX_LIST_LENGTH),
  );

/** The most principals in a policy of SQS. */
const MAX_PRODUCER_ACCOUNTS = 50;

const email = () => setting('must be an email address such as alerts@example.org', z.email());

const shortUrl = (rule: string, schema: z.ZodType<string, string>) =>
  setting(
    `must be a URL of at most ${MAX_URL_LENGTH} characters that starts with ${rule}`,
    z.string().max(MAX_URL_LENGTH).pipe(schema),
  );

const httpUrl = () =>
  shortUrl(
    'http:// or https://, without query or fragment',
    z.url({ protocol: /^https?$/ }).refine((url) => !/[?#]/.test(url)),
  );

/** The local stack has no TLS, and nothing in AWS listens on a loopback address. */
const monitorUrl = () =>
  shortUrl(
    'https://, or with http:// and a loopback address',
    z.union([
      z.url({ protocol: /^https$/ }),
      z.url({ protocol: /^http$/, hostname: /^(localhost|127(\.\d+){3}|\[::1\])$/ }),
    ]),
  );

/** The parts after the host have characters of RFC 3986, and braces. */
const ALARM_URL = /^https:\/\/[\w.-]+(:\d+)?([/?#][\w.~%!$&'()*+,;=:@/?#[\]{}-]*)?$/;

const alarmUrl = () =>
  shortUrl(
    'https://, in which {tenant_id}, {entity_id} and {alarm_id} may follow the host',
    z
      .string()
      .regex(ALARM_URL)
      .refine((template) => URL.canParse(template) && !/[{}]/.test(template.replace(ALARM_URL_PLACEHOLDER, ''))),
  );

const hostname = () => setting('must be a host name such as api.example.org', z.hostname().regex(/^[^.]+(\.[^.]+)+$/));

/** Values by name, written `name=value,...`. Names differ without case, as IAM requires of tags. */
const pairs = <Output>(rule: string, schema: z.ZodType<Output, Record<string, string>>) =>
  setting(
    `must be a comma-separated list, with each name once in any case, such as ${rule}`,
    commaSeparated
      .transform((texts) => texts.map((text) => text.split('=').map((part) => part.trim())))
      .pipe(z.array(z.tuple([z.string().min(1), z.string().min(1)])))
      .refine((entries) => new Set(entries.map(([name]) => name.toLowerCase())).size === entries.length)
      .transform((entries) => Object.fromEntries(entries))
      .pipe(schema),
  );

const perType = (min: number, max: number) =>
  pairs(
    `webhook=${max}, with whole numbers from ${min} to ${max} for the types ${notificationTypeIds.join(', ')}`,
    z.partialRecord(
      z.enum(notificationTypeIds),
      z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max)),
    ),
  );

/** The limits of Lambda for the memory of a function, in MB, and the concurrency of an event source. */
const MEMORY_MB = [128, 10_240] as const;
const CONCURRENCY = [2, 1_000] as const;

/** SES sends no email from it. */
export const PLACEHOLDER_SENDER = 'notifications@example.com';

const logRetentions = Object.values(RetentionDays)
  .filter((days): days is number => typeof days === 'number')
  .sort((a, b) => a - b);

/** A resource of AWS has at most 50, and the CDK adds three to subnets. */
export const MAX_TAGS = 47;
/** In characters: the template, which repeats all tags in about 220 resources, has at most 1 MB. */
export const MAX_TAGS_LENGTH = 1_500;
/** The longest tags of AWS. */
const tagName = /^(?!aws:)[\w .:/+@-]{1,128}$/i;
const tagValue = /^[\w .:/+@-]{1,256}$/;

/** With the ARN of the table. */
export const STREAM_ARN = /^(arn:[\w-]+:dynamodb:[\w-]+:\d{12}:table\/[\w.-]+)\/stream\/[\w:.-]+$/;

const tableNames = ['Notifications', 'Accounts', 'Tokens', 'Deliveries', 'Audits'] as const;

/**
 * The settings of a deployment, from CDK context (`-c name=value`, or `context` in `cdk.json`). All are optional;
 * docs/operations.md#settings describes them.
 */
const settingsShape = z.strictObject({
  emailFrom: email().default(PLACEHOLDER_SENDER),
  emailReplyTo: email().optional(),
  smsSenderId: text('must have 1 to 11 letters, digits and hyphens', /^[A-Za-z0-9-]{1,11}$/).optional(),
  smsOriginationNumber: setting(
    'must be a phone number in international format such as +12025550123',
    z.e164(),
  ).optional(),
  smsMaxPriceUsd: positiveNumber().optional(),
  smsCountries: listForFunction('number prefixes such as +1,+49', z.string().regex(/^\+[1-9]\d{0,6}$/)).default([]),
  smsPerTenantPerDay: tenantLimit('smsPerTenantPerDay').default(1_000),
  emailsPerTenantPerDay: tenantLimit('emailsPerTenantPerDay').default(10_000),
  managedPerTenantPerDay: tenantLimit('managedPerTenantPerDay').default(100),
  pagerEndpoint: httpUrl().default('https://events.pagerduty.com/generic/2010-04-15/create_event.json'),
  routerEndpoint: httpUrl().default('https://alert.victorops.com/integrations/generic/20131114/alert'),
  feedEndpoint: httpUrl().optional(),
  alarmUrl: alarmUrl().optional(),
  deadLetterEmail: flag().default(true),
  failingNotices: flag().default(true),
  deliveryOutcomes: flag().default(false),
  escalateUnreached: choice(...escalationModes).default('contacts+managed'),
  notificationsPerTenant: tenantLimit('notificationsPerTenant').default(1_000),
  testsPerTenantPerDay: tenantLimit('testsPerTenantPerDay').default(200),
  redeliveriesPerTenantPerDay: tenantLimit('redeliveriesPerTenantPerDay').default(10_000),
  auditRetentionDays: wholeNumber(1, 3_650).default(90),
  tokenCacheSeconds: numberUpTo(60).default(60),
  apiRequestsPerSecond: wholeNumber(1).default(200),
  testRequestsPerSecond: wholeNumber(1).default(100),
  senderConcurrency: wholeNumber(...CONCURRENCY).default(20),
  senderConcurrencyByType: perType(...CONCURRENCY)
    // A destination that does not respond blocks a worker for 15 s. With this many workers, one tenant's burst does not
    // block all of them.
    .default({ webhook: 200, incidentpager: 50, incidentrouter: 50 }),
  dispatchConcurrency: wholeNumber(...CONCURRENCY).default(10),
  retryDelayScale: numberUpTo(1).default(1),
  egressAllow: listForFunction('CIDR blocks such as 10.0.0.0/8,fd00::/8', z.union([z.cidrv4(), z.cidrv6()])).default(
    [],
  ),
  producerAccounts: list(
    `at most ${MAX_PRODUCER_ACCOUNTS} AWS account IDs of 12 digits`,
    z.array(z.string().regex(/^\d{12}$/)).max(MAX_PRODUCER_ACCOUNTS),
  ).default([]),
  domainName: hostname().optional(),
  certificateArn: text(
    'must be the ARN of an ACM certificate',
    /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
  ).optional(),
  hostedZoneId: text('must be the ID of a Route 53 hosted zone such as Z0123456789ABC', /^Z[A-Z0-9]+$/).optional(),
  hostedZoneName: hostname().optional(),
  basePath: setting(
    'must be path segments of letters, digits, ".", "_" and "-", separated by slashes, with at most 300 characters',
    z
      .string()
      .regex(/^[\w.-]+(\/[\w.-]+)*$/)
      .max(300),
  ).optional(),
  emailIdentity: flag().default(false),
  egress: choice('lambda', 'static').default('lambda'),
  memoryMb: wholeNumber(...MEMORY_MB).optional(),
  memoryMbByType: perType(...MEMORY_MB).default({}),
  heartbeatUrl: monitorUrl().optional(),
  expectedEventIntervalMinutes: wholeNumber(5, 1_440).optional(),
  alarmTarget: setting(
    'must be an email address or the ARN of an SNS topic',
    z.union([z.email(), z.string().regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/)]),
  ).optional(),
  runbookUrl: shortUrl(
    'https://, without fragment',
    z.url({ protocol: /^https$/ }).refine((url) => !url.includes('#')),
  ).optional(),
  smsMonthlyBudgetUsd: positiveNumber().default(1),
  lambdaConcurrencyQuota: wholeNumber(1).default(1_000),
  reserveConcurrency: flag().default(false),
  linkScheme: choice('http', 'https').default('https'),
  logRetentionDays: number(
    `must be one of ${logRetentions.join(', ')}`,
    z.number().refine((days) => logRetentions.includes(days)),
  ).default(RetentionDays.ONE_MONTH),
  deletionProtection: flag().default(true),
  existingTables: pairs(
    `Tokens=restored-tokens, with table names of 3 to 255 characters, and the ARN of a stream for Deliveries, for ${tableNames.join(', ')}`,
    z.partialRecord(z.enum(tableNames), z.union([z.string().regex(/^[\w.-]{3,255}$/), z.string().regex(STREAM_ARN)])),
  ).default({}),
  tags: pairs(
    `team=ops,env=prod, with at most ${MAX_TAGS} tags of at most ${MAX_TAGS_LENGTH} characters together`,
    z
      .record(z.string().regex(tagName), z.string().regex(tagValue))
      .refine((tags) => Object.keys(tags).length <= MAX_TAGS)
      .refine((tags) => Object.entries(tags).flat().join('').length <= MAX_TAGS_LENGTH),
  ).default({}),
  developmentStage: flag().default(false),
});

export type Settings = z.output<typeof settingsShape>;

type Rule = [isViolated: boolean, sentence: string];

/** Returns a sentence for each violated rule that involves several settings, or the region of the stack. */
const violationsOf = (s: Settings, region: string | undefined): string[] => {
  const { domainName, hostedZoneName, developmentStage } = s;
  const quota = reservedConcurrency(s) + MIN_UNRESERVED_CONCURRENCY;
  const requires = (name: keyof Settings, required: keyof Settings): Rule => [
    !!s[name] && !s[required],
    `${required} is required with ${name}`,
  ];
  const hasNoUse = (name: keyof Settings, reason: string): Rule => [
    developmentStage && !!s[name],
    `${name} must not be set with developmentStage: ${reason}`,
  ];
  const rules: Rule[] = [
    requires('domainName', 'certificateArn'),
    requires('certificateArn', 'domainName'),
    requires('basePath', 'domainName'),
    requires('hostedZoneId', 'domainName'),
    requires('hostedZoneId', 'hostedZoneName'),
    requires('hostedZoneName', 'hostedZoneId'),
    [
      !!domainName && !!hostedZoneName && !`.${domainName}`.endsWith(`.${hostedZoneName}`),
      'domainName must be in the zone hostedZoneName',
    ],
    hasNoUse('alarmTarget', 'it has no alarms'),
    hasNoUse('expectedEventIntervalMinutes', 'it has no alarms'),
    hasNoUse('reserveConcurrency', 'its event sources have no maximum'),
    [
      s.reserveConcurrency && quota > s.lambdaConcurrencyQuota,
      `reserveConcurrency reserves ${reservedConcurrency(s)}, which needs a lambdaConcurrencyQuota of at least ${quota}, not ${s.lambdaConcurrencyQuota}`,
    ],
    [s.emailIdentity && s.emailFrom === PLACEHOLDER_SENDER, 'emailFrom is required with emailIdentity'],
    [
      Object.entries(s.existingTables).some(([table, name]) => STREAM_ARN.test(name) !== (table === 'Deliveries')),
      'existingTables must have the ARN of its stream for Deliveries, and the names of all other tables',
    ],
    ...Object.entries({
      certificateArn: s.certificateArn,
      alarmTarget: s.alarmTarget,
      existingTables: s.existingTables.Deliveries,
    }).map(([name, arn]): Rule => [isElsewhere(arn, region), `${name} must be in the region of the stack`]),
  ];
  return rules.flatMap(([isViolated, sentence]) => (isViolated ? `${sentence}.` : []));
};

/** Without a region, the credentials select it at deployment. */
const isElsewhere = (arn: string | undefined, region: string | undefined): boolean =>
  region !== undefined && !!arn?.startsWith('arn:') && arn.split(':')[3] !== region;

export const settingNames = Object.keys(settingsShape.shape);

/** Context keys of `cdk acknowledge` and `cdk cli-telemetry`. All others of the CDK contain a colon or a slash. */
const CLI_KEYS = ['acknowledged-issue-numbers', 'cli-telemetry'];

/** Returns whether a context key names a setting, known or not. */
export const isSetting = (key: string): boolean => !/[:/]/.test(key) && !CLI_KEYS.includes(key);

const unknownSetting = (name: string): string => {
  const nearest = nearestName(name, [...settingNames, 'stackName']);
  const hint = nearest ? `did you mean ${nearest}?` : `the settings are stackName, ${settingNames.join(', ')}.`;
  return `${JSON.stringify(name)} is not a setting; ${hint}`;
};

const describe = (issue: z.core.$ZodIssue): string[] =>
  issue.code === 'unrecognized_keys' ? issue.keys.map(unknownSetting) : [`${issue.path.join('.')} ${issue.message}.`];

/**
 * @param region that of the stack, or undefined if the credentials select it
 * @throws Error with one line for each invalid or unknown setting
 */
export const parseSettings = (settings: Readonly<Record<string, unknown>>, region?: string): Settings => {
  const { data, error } = settingsShape.safeParse(settings);
  const sentences = error ? error.issues.flatMap(describe) : violationsOf(data, region);
  if (data && sentences.length === 0) return data;
  throw new Error(sentences.map((sentence) => `Invalid setting: ${sentence}`).join('\n'));
};

export const withoutCredentials = (url: string): string => url.replace(/^(https?:\/\/)[^/]*@/i, '$1***@');

const shownSetting = (name: string, value: unknown): unknown => {
  if (name === 'heartbeatUrl') return '(set)';
  return typeof value === 'string' ? withoutCredentials(value) : value;
};

/** Returns the settings that differ from their defaults, without secrets: the URL of a monitor is one. */
export const changedSettings = (settings: Settings): Record<string, unknown> => {
  const defaults = new Map(Object.entries(settingsShape.parse({})));
  const changed = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults.get(name)),
  );
  return Object.fromEntries(changed.map(([name, value]) => [name, shownSetting(name, value)]));
};

export const tenantLimitsJson = (settings: Settings): string =>
  JSON.stringify(Object.fromEntries(limitNames.map((name) => [name, settings[name]])));

const TEST_CONCURRENCY = 10;

/** What Lambda leaves to the functions of an account that reserve nothing (AWS limit). */
export const MIN_UNRESERVED_CONCURRENCY = 100;

type ConcurrencySettings = Pick<Settings, 'senderConcurrency' | 'senderConcurrencyByType' | 'dispatchConcurrency'>;

export const senderConcurrency = (
  { senderConcurrency: byDefault, senderConcurrencyByType }: ConcurrencySettings,
  type: NotificationTypeId,
): number => senderConcurrencyByType[type] ?? byDefault;

/** Returns the additional concurrency for the retries of a type. The minimum of an event source mapping is 2. */
export const retryConcurrency = (maxConcurrency: number): number => Math.max(Math.ceil(maxConcurrency / 4), 2);

/** Returns the concurrency that the sender of a type reserves: that of its event sources, and ten for tests. */
export const reservedSenderConcurrency = (settings: ConcurrencySettings, type: NotificationTypeId): number => {
  const maxConcurrency = senderConcurrency(settings, type);
  return maxConcurrency + retryConcurrency(maxConcurrency) + TEST_CONCURRENCY;
};

/** Returns the concurrency that dispatch, which runs no tests, and the senders reserve together. */
export const reservedConcurrency = (settings: ConcurrencySettings): number =>
  notificationTypeIds.reduce(
    (total, type) => total + reservedSenderConcurrency(settings, type),
    settings.dispatchConcurrency,
  );

export const reservedBy = (settings: ConcurrencySettings & Pick<Settings, 'reserveConcurrency'>): number =>
  settings.reserveConcurrency ? reservedConcurrency(settings) : 0;
