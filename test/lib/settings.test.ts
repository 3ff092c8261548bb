import { describe, expect, it } from 'vitest';
import { changedSettings, MAX_TAGS, parseSettings, settingNames } from '../../lib/settings.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { longest } from '../support/settings.ts';

const STREAM = 'arn:aws:dynamodb:eu-west-1:111111111111:table/Deliveries-restored/stream/2026-01-01T00:00:00.000';

describe('settings', () => {
  it('have defaults, so none is required', () => {
    expect(() => parseSettings({})).not.toThrow();
  });

  it('are shown to operators if they differ from their defaults, without secrets', () => {
    const monitor = 'https://monitor.example.org/push/secret';
    const changed = { feedEndpoint: 'HTTPS://me:secret@feed.example.org/a@b', heartbeatUrl: monitor, memoryMb: 512 };
    const settings = parseSettings({ ...changed, smsPerTenantPerDay: '1000', smsCountries: '' });
    expect(changedSettings(settings)).toEqual({
      feedEndpoint: 'HTTPS://***@feed.example.org/a@b',
      heartbeatUrl: '(set)',
      memoryMb: 512,
    });
  });

  it('are parsed from strings, as passed by -c', () => {
    const context = {
      emailFrom: 'alerts@example.org',
      testsPerTenantPerDay: '100000',
      retryDelayScale: '0.01',
      egressAllow: '127.0.0.0/8, ::1/128',
      deletionProtection: 'false',
      senderConcurrencyByType: 'webhook=100,sms=5',
      existingTables: `Deliveries=${STREAM}, Tokens=Tokens.1`,
      tags: 'team = ops team, env=prod',
    };
    expect(parseSettings(context)).toMatchObject({
      emailFrom: 'alerts@example.org',
      testsPerTenantPerDay: 100_000,
      retryDelayScale: 0.01,
      egressAllow: ['127.0.0.0/8', '::1/128'],
      deletionProtection: false,
      senderConcurrencyByType: { webhook: 100, sms: 5 },
      existingTables: { Deliveries: STREAM, Tokens: 'Tokens.1' },
      tags: { team: 'ops team', env: 'prod' },
    });
  });

  it('are parsed from JSON values, as in cdk.json', () => {
    const settings = { testsPerTenantPerDay: 5, deletionProtection: false, retryDelayScale: 0.5 };
    expect(parseSettings(settings)).toMatchObject(settings);
  });
});

describe('reserved concurrency', () => {
  /** 5 for dispatch; 8, 2 for retries and 10 for tests of each type, and 10 and 3 more for webhooks. */
  const reserved = 5 + 20 * notificationTypeIds.length + 13;
  const settings = {
    reserveConcurrency: 'true',
    dispatchConcurrency: '5',
    senderConcurrency: '8',
    senderConcurrencyByType: 'webhook=18',
  };

  it('is rejected unless it leaves 100 of lambdaConcurrencyQuota', () => {
    const withQuota = (lambdaConcurrencyQuota: number) => () => parseSettings({ ...settings, lambdaConcurrencyQuota });
    expect(withQuota(reserved + 100)).not.toThrow();
    expect(withQuota(reserved + 99)).toThrow(
      `Invalid setting: reserveConcurrency reserves ${reserved}, which needs a lambdaConcurrencyQuota of at least ${reserved + 100}, not ${reserved + 99}.`,
    );
  });

  it('needs no quota while it is off, which is the default', () => {
    expect(parseSettings({ ...settings, reserveConcurrency: 'false', lambdaConcurrencyQuota: 10 })).toMatchObject({
      reserveConcurrency: false,
    });
    expect(parseSettings({}).reserveConcurrency).toBe(false);
  });

  it('fits into the default quota with the other defaults', () => {
    expect(() => parseSettings({ reserveConcurrency: true })).not.toThrow();
  });
});

const messageOf = (context: Record<string, unknown>): string => {
  try {
    parseSettings(context);
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error('The settings are valid.');
};

describe('an unknown setting', () => {
  it.each([
    ['mailfrom', 'emailFrom'],
    ['testPerTenantPerDay', 'testsPerTenantPerDay'],
    ['memory', 'memoryMb'],
  ])('is rejected with the most similar setting: %s', (name, nearest) => {
    expect(messageOf({ [name]: 'x' })).toBe(`Invalid setting: "${name}" is not a setting; did you mean ${nearest}?`);
  });

  it.each(['pigeons', 'toString', 'x', ''])(
    'is rejected with a list of all settings if none is similar: %j',
    (name) => {
      const message = messageOf({ [name]: 'x' });
      expect(message).toMatch(new RegExp(`^Invalid setting: "${name}" is not a setting; the settings are stackName, `));
      for (const settingName of settingNames) expect(message).toContain(settingName);
    },
  );
});

describe('every setting', () => {
  /** None of these is a valid value of any setting. */
  const invalidValues = ['', ' ', 'a b\u0000', '-7,', '=,=', null, {}, [], ['x'], Number.NaN, -7];

  it.each(settingNames)('is rejected with its rule in words, never with the text of a library: %s', (name) => {
    // An empty list is valid, and so is a list of nothing.
    const isList = typeof defaultOf(name) === 'object';
    const values = isList
      ? invalidValues.filter((value) => typeof value !== 'string' || value.trim() !== '')
      : invalidValues;
    const rules = values.map((value) => {
      const message = messageOf({ [name]: value });
      expect(message).toMatch(new RegExp(`^Invalid setting: ${name} must [^\\n]+, not [^\\n]+\\.$`));
      expect(message.replace(name, '')).not.toMatch(
        /invalid input|expected|received|too (small|big)|pattern|undefined|union|zod/i,
      );
      return message.slice(0, message.lastIndexOf(', not '));
    });
    expect(new Set(rules).size).toBe(1);
  });
});

/** The default of a setting. */
const defaultOf = (name: string): unknown => new Map<string, unknown>(Object.entries(parseSettings({}))).get(name);

describe('an invalid setting', () => {
  it.each<[name: string, values: unknown[]]>([
    ['emailFrom', ['alerts', 'Ops <ops@example.org>']],
    ['smsSenderId', ['a b', 'longerThan11']],
    ['smsOriginationNumber', ['12025550123']],
    ['pagerEndpoint', ['ftp://pager.example.com']],
    ['routerEndpoint', ['https://router.example.com/alert?key=1']],
    [
      'alarmUrl',
      [
        'http://console.example.com/{alarm_id}',
        'console.example.com/{alarm_id}',
        'https://{tenant_id}.example.com/{alarm_id}',
        'https://console.example.com{alarm_id}',
        'https://user@console.example.com/{alarm_id}',
        'https://console.example.com/{alarm}',
        'https://console.example.com/{alarm_id',
        'https://console.example.com/a b',
        'https://console.example.com/"><b>',
        'https://-.-:99999/',
      ],
    ],
    ['heartbeatUrl', ['hc-ping.com/abc', 'http://hc-ping.com/abc', 'http://127.0.0.1.example.com/abc']],
    ['expectedEventIntervalMinutes', ['4', '1441', '7.5']],
    ['testsPerTenantPerDay', ['-1', '1.5', 'many', '', ' ', null, true, 'Infinity']],
    ['tokenCacheSeconds', ['61']],
    ['senderConcurrency', ['1', '1001']],
    ['senderConcurrencyByType', ['pigeon=5', 'webhook=1', 'webhook']],
    ['retryDelayScale', ['1.5', '-0.1', '']],
    ['egressAllow', ['10.0.0.0', '10.0.0.0/33', 'localhost']],
    ['producerAccounts', ['123']],
    ['domainName', ['https://api.example.org', 'localhost']],
    ['certificateArn', ['arn:aws:iam::111111111111:server-certificate/x']],
    ['basePath', ['/v1/', 'v 1']],
    ['memoryMb', ['64', '20000']],
    ['memoryMbByType', ['pigeon=512', 'webhook=1']],
    ['existingTables', ['Deliveries', 'deliveries=restored', 'Deliveries=a', 'Deliveries=a b c']],
    [
      'tags',
      [
        'team',
        'team=',
        'team= ',
        'aws:team=ops',
        'team=a;b',
        'team=a,Team=b',
        Array.from({ length: MAX_TAGS + 1 }, (_, index) => `t${index}=x`).join(),
      ],
    ],
  ])('is rejected by name: %s=%j', (name, values) => {
    const rejection = new RegExp(`^Invalid setting: ${name} must .*\\.$`);
    for (const value of values) expect(() => parseSettings({ [name]: value })).toThrow(rejection);
  });

  it.each([
    ['memoryMb', '64', 'must be a whole number from 128 to 10240, not "64".'],
    ['egress', 'vpc', 'must be one of lambda, static, not "vpc".'],
    ['deletionProtection', '', 'must be true or false, not "".'],
    [
      'smsCountries',
      '49',
      'must be a comma-separated list of at most 700 characters with number prefixes such as +1,+49, not "49".',
    ],
  ])('is rejected with its rule: %s=%j', (name, value, rule) => {
    expect(messageOf({ [name]: value })).toBe(`Invalid setting: ${name} ${rule}`);
  });

  it.each([
    ['egressAllow', ',10.0.0.0/8'],
    ['smsCountries', ',+1'],
    ['producerAccounts', ',111111111111'],
    ['pagerEndpoint', 'x'],
    ['heartbeatUrl', 'x'],
    ['alarmUrl', 'x'],
    ['tags', 'x'],
  ] as const)('is rejected if it is longer than AWS permits: %s', (name, more) => {
    expect(() => parseSettings({ [name]: longest[name] })).not.toThrow();
    expect(messageOf({ [name]: longest[name] + more })).toMatch(
      new RegExp(`^Invalid setting: ${name} must be .* of at most \\d+ `),
    );
  });

  it('is reported on a line of its own, beside all other invalid settings', () => {
    const lines = messageOf({ testsPerTenantPerDay: 'x', emailFrom: 'x', mailReplyTo: 'x', pigeons: 1 }).split('\n');
    const named = lines.map((line) => /^Invalid setting: "?(\w+)/.exec(line)?.[1]);
    expect(named.toSorted()).toEqual(['emailFrom', 'mailReplyTo', 'pigeons', 'testsPerTenantPerDay']);
  });
});

describe('related settings', () => {
  const certificateArn = 'arn:aws:acm:eu-west-1:111111111111:certificate/0a1b2c3d';
  const domain = { domainName: 'api.example.org', certificateArn };
  const zone = { hostedZoneId: 'Z0123456789ABC', hostedZoneName: 'example.org' };

  it.each([
    ['a domain', domain],
    ['a domain with a hosted zone', { ...domain, ...zone }],
    ['a domain that equals its hosted zone', { ...domain, domainName: 'example.org', ...zone }],
    ['an https heartbeat', { heartbeatUrl: 'https://monitor.example.org/push/abc?status=up' }],
    ['a link to an alarm', { alarmUrl: 'https://console.example.com:8443/{tenant_id}?a={alarm_id}#{entity_id}' }],
    ['a local heartbeat', { heartbeatUrl: 'http://127.0.0.1:8080/abc' }],
  ])('are accepted together: %s', (_, settings) => {
    expect(() => parseSettings(settings)).not.toThrow();
  });

  it.each([
    [{ domainName: 'api.example.org' }, 'certificateArn is required with domainName'],
    [{ certificateArn }, 'domainName is required with certificateArn'],
    [{ basePath: 'v1' }, 'domainName is required with basePath'],
    [zone, 'domainName is required with hostedZoneId'],
    [{ ...domain, hostedZoneId: zone.hostedZoneId }, 'hostedZoneName is required with hostedZoneId'],
    [{ ...domain, hostedZoneName: 'example.org' }, 'hostedZoneId is required with hostedZoneName'],
    [{ ...domain, ...zone, hostedZoneName: 'le.org' }, 'domainName must be in the zone hostedZoneName'],
    [{ emailIdentity: true }, 'emailFrom is required with emailIdentity'],
    [
      { developmentStage: 'true', alarmTarget: 'oncall@example.org' },
      'alarmTarget must not be set with developmentStage: it has no alarms',
    ],
    [
      { developmentStage: 'true', expectedEventIntervalMinutes: '60' },
      'expectedEventIntervalMinutes must not be set with developmentStage: it has no alarms',
    ],
    [
      { developmentStage: 'true', reserveConcurrency: 'true' },
      'reserveConcurrency must not be set with developmentStage: its event sources have no maximum',
    ],
    [
      { existingTables: 'Deliveries=restored' },
      'existingTables must have the ARN of its stream for Deliveries, and the names of all other tables',
    ],
    [
      { existingTables: `Tokens=${STREAM}` },
      'existingTables must have the ARN of its stream for Deliveries, and the names of all other tables',
    ],
  ])('are rejected if one is missing or inconsistent: %j', (settings, message) => {
    expect(() => parseSettings(settings)).toThrow(new RegExp(`^Invalid setting: ${message}\\.$`));
  });

  it.each([
    ['certificateArn', domain],
    ['alarmTarget', { alarmTarget: 'arn:aws:sns:eu-west-1:111111111111:alarms' }],
    ['existingTables', { existingTables: `Deliveries=${STREAM}` }],
  ])('are rejected if AWS would not find %s in the region of the stack', (name, settings) => {
    expect(() => parseSettings(settings, 'eu-west-1')).not.toThrow();
    expect(() => parseSettings(settings)).not.toThrow();
    expect(() => parseSettings(settings, 'us-west-2')).toThrow(
      new Error(`Invalid setting: ${name} must be in the region of the stack.`),
    );
  });
});
