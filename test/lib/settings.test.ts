import { describe, expect, it } from 'vitest';
import { PLACEHOLDER_SENDER, parseSettings, settingNames } from '../../lib/settings.ts';

describe('settings', () => {
  it('have defaults, so none is required', () => {
    expect(parseSettings({})).toMatchObject({
      emailFrom: PLACEHOLDER_SENDER,
      testsPerTenantPerDay: 200,
      tokenCacheSeconds: 60,
      apiRequestsPerSecond: 200,
      testRequestsPerSecond: 100,
      notificationsPerTenant: 1_000,
      redeliveriesPerTenantPerDay: 10_000,
      smsPerTenantPerDay: 1_000,
      emailsPerTenantPerDay: 10_000,
      managedPerTenantPerDay: 100,
      deadLetterEmail: true,
      failingNotices: true,
      escalateUnreached: 'contacts+managed',
      smsCountries: [],
      retryDelayScale: 1,
      egressAllow: [],
      producerAccounts: [],
      linkScheme: 'https',
      logRetentionDays: 30,
      deletionProtection: true,
    });
  });

  it('are parsed from strings, as passed by -c', () => {
    const context = {
      emailFrom: 'alerts@example.org',
      testsPerTenantPerDay: '100000',
      redeliveriesPerTenantPerDay: '0',
      tokenCacheSeconds: '0',
      retryDelayScale: '0.01',
      egressAllow: '127.0.0.0/8, ::1/128',
      producerAccounts: '111111111111,222222222222',
      deletionProtection: 'false',
      logRetentionDays: '7',
      smsMaxPriceUsd: '0.5',
      senderConcurrencyByType: 'webhook=100,sms=5',
      existingTables: 'Deliveries=Deliveries-restored, Tokens=Tokens.1',
    };
    expect(parseSettings(context)).toMatchObject({
      emailFrom: 'alerts@example.org',
      testsPerTenantPerDay: 100_000,
      redeliveriesPerTenantPerDay: 0,
      tokenCacheSeconds: 0,
      retryDelayScale: 0.01,
      egressAllow: ['127.0.0.0/8', '::1/128'],
      producerAccounts: ['111111111111', '222222222222'],
      deletionProtection: false,
      logRetentionDays: 7,
      smsMaxPriceUsd: 0.5,
      senderConcurrencyByType: { webhook: 100, sms: 5 },
      existingTables: { Deliveries: 'Deliveries-restored', Tokens: 'Tokens.1' },
    });
  });

  it('are parsed from JSON values, as in cdk.json', () => {
    expect(parseSettings({ testsPerTenantPerDay: 5, deletionProtection: false, retryDelayScale: 1 })).toMatchObject({
      testsPerTenantPerDay: 5,
      deletionProtection: false,
      retryDelayScale: 1,
    });
  });

  it.each([
    ['a context lookup', 'availability-zones:account=1:region=eu-west-1'],
    ['a feature flag', '@aws-cdk/core:newStyleStackSynthesis'],
    ['the CLI', 'aws:cdk:enable-path-metadata'],
    ['`cdk cli-telemetry --disable`', 'cli-telemetry'],
    ['`cdk acknowledge`', 'acknowledged-issue-numbers'],
  ])('ignore context keys of the CDK: %s', (_, key) => {
    expect(parseSettings({ [key]: true })).toEqual(parseSettings({}));
  });
});

describe('an unknown setting', () => {
  it.each(['testPerDay', 'mailfrom', 'MailFrom', 'retry_scale', 'retry-scale', 'toString'])(
    'is rejected with a list of all settings: %s',
    (name) => {
      const attempt = () => parseSettings({ [name]: 'x' });
      expect(attempt).toThrow(`"${name}" is not a setting`);
      for (const settingName of settingNames) expect(attempt).toThrow(settingName);
    },
  );
});

describe('an invalid setting', () => {
  it.each([
    ['emailFrom', 'alerts'],
    ['emailFrom', 'Ops <ops@example.org>'],
    ['emailReplyTo', 'reply'],
    ['smsSenderId', 'a b'],
    ['smsSenderId', 'longerThan11'],
    ['smsOriginationNumber', '12025550123'],
    ['smsMaxPriceUsd', '0'],
    ['smsCountries', '49'],
    ['pagerEndpoint', 'ftp://pager.example.com'],
    ['feedEndpoint', 'feed'],
    ['routerEndpoint', 'https://router.example.com/alert?key=1'],
    ['testsPerTenantPerDay', '-1'],
    ['testsPerTenantPerDay', '1.5'],
    ['testsPerTenantPerDay', 'many'],
    ['testsPerTenantPerDay', ''],
    ['testsPerTenantPerDay', ' '],
    ['testsPerTenantPerDay', null],
    ['testsPerTenantPerDay', true],
    ['testsPerTenantPerDay', 'Infinity'],
    ['redeliveriesPerTenantPerDay', '-1'],
    ['redeliveriesPerTenantPerDay', '0.5'],
    ['tokenCacheSeconds', '61'],
    ['apiRequestsPerSecond', '0'],
    ['testRequestsPerSecond', '0'],
    ['notificationsPerTenant', '0'],
    ['failingNotices', 'maybe'],
    ['escalateUnreached', 'everyone'],
    ['notificationsPerTenant', '10.5'],
    ['senderConcurrency', '1'],
    ['senderConcurrency', '1001'],
    ['senderConcurrencyByType', 'pigeon=5'],
    ['senderConcurrencyByType', 'webhook=1'],
    ['senderConcurrencyByType', 'webhook'],
    ['dispatchConcurrency', '1'],
    ['retryDelayScale', '1.5'],
    ['retryDelayScale', '-0.1'],
    ['retryDelayScale', ''],
    ['egressAllow', '10.0.0.0'],
    ['egressAllow', '10.0.0.0/33'],
    ['egressAllow', 'localhost'],
    ['producerAccounts', '123'],
    ['linkScheme', 'ftp'],
    ['logRetentionDays', '31'],
    ['deletionProtection', 'maybe'],
    ['deletionProtection', ''],
    ['deadLetterEmail', 'yes'],
    ['domainName', 'https://api.example.org'],
    ['domainName', 'localhost'],
    ['certificateArn', 'arn:aws:iam::111111111111:server-certificate/x'],
    ['hostedZoneId', 'example.org'],
    ['basePath', '/v1/'],
    ['basePath', 'v 1'],
    ['emailIdentity', 'maybe'],
    ['egress', 'vpc'],
    ['memoryMb', '64'],
    ['memoryMb', '20000'],
    ['memoryMbByType', 'pigeon=512'],
    ['memoryMbByType', 'webhook=1'],
    ['existingTables', 'Deliveries'],
    ['existingTables', 'deliveries=restored'],
    ['existingTables', 'Deliveries=a'],
    ['existingTables', 'Deliveries=a b c'],
  ])('is rejected by name: %s=%j', (name, value) => {
    expect(() => parseSettings({ [name]: value })).toThrow(new RegExp(`^Invalid setting: ${name}[.:]`));
  });

  it('is reported together with all other invalid settings', () => {
    const attempt = () => parseSettings({ testsPerTenantPerDay: 'x', emailFrom: 'x', tests: 1 });
    for (const message of ['testsPerTenantPerDay: ', 'emailFrom: ', '"tests" is not a setting'])
      expect(attempt).toThrow(message);
  });
});

describe('related settings', () => {
  const certificateArn = 'arn:aws:acm:eu-west-1:111111111111:certificate/0a1b2c3d';
  const domain = { domainName: 'api.example.org', certificateArn };
  const zone = { hostedZoneId: 'Z0123456789ABC', hostedZoneName: 'example.org' };

  it.each([
    ['a domain', domain],
    ['a domain with a path', { ...domain, basePath: 'v1.0/123456' }],
    ['a domain with a hosted zone', { ...domain, ...zone }],
    ['a domain that equals its hosted zone', { ...domain, domainName: 'example.org', ...zone }],
    ['an SES identity', { emailIdentity: 'true', emailFrom: 'alerts@example.org' }],
  ])('are accepted together: %s', (_, settings) => {
    expect(() => parseSettings(settings)).not.toThrow();
  });

  it.each([
    [{ domainName: 'api.example.org' }, 'certificateArn: is required with domainName'],
    [{ certificateArn }, 'domainName: is required with certificateArn'],
    [{ basePath: 'v1' }, 'domainName: is required with basePath'],
    [zone, 'domainName: is required with hostedZoneId'],
    [{ ...domain, hostedZoneId: zone.hostedZoneId }, 'hostedZoneName: is required with hostedZoneId'],
    [{ ...domain, hostedZoneName: 'example.org' }, 'hostedZoneId: is required with hostedZoneName'],
    [{ ...domain, ...zone, hostedZoneName: 'le.org' }, 'domainName: must be in the zone hostedZoneName'],
    [{ emailIdentity: true }, 'emailFrom: is required with emailIdentity'],
  ])('are rejected if one is missing or inconsistent: %j', (settings, message) => {
    expect(() => parseSettings(settings)).toThrow(new RegExp(`^Invalid setting: ${message}$`));
  });
});
