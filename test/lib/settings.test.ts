import { describe, expect, it } from 'vitest';
import { PLACEHOLDER_SENDER, parseSettings, settingNames } from '../../lib/settings.ts';

describe('the settings of a deploy', () => {
  it('need nothing: each has a default that works', () => {
    expect(parseSettings({})).toMatchObject({
      mailFrom: PLACEHOLDER_SENDER,
      testsPerDay: 200,
      tokenCacheSeconds: 60,
      apiRequestsPerSecond: 200,
      testRequestsPerSecond: 100,
      notificationsPerTenant: 1_000,
      smsPerTenantDay: 1_000,
      emailPerTenantDay: 10_000,
      managedPerTenantDay: 100,
      smsCountries: [],
      retryScale: 1,
      egressAllow: [],
      producerAccounts: [],
      linkScheme: 'https',
      logRetentionDays: 30,
      removalProtection: true,
    });
  });

  it('are read from texts, as -c gives them', () => {
    const given = {
      mailFrom: 'alerts@example.org',
      testsPerDay: '100000',
      tokenCacheSeconds: '0',
      retryScale: '0.01',
      egressAllow: '127.0.0.0/8, ::1/128',
      producerAccounts: '111111111111,222222222222',
      removalProtection: 'false',
      logRetentionDays: '7',
      smsMaxPrice: '0.5',
      typeConcurrency: 'webhook=100,sms=5',
    };
    expect(parseSettings(given)).toMatchObject({
      mailFrom: 'alerts@example.org',
      testsPerDay: 100_000,
      tokenCacheSeconds: 0,
      retryScale: 0.01,
      egressAllow: ['127.0.0.0/8', '::1/128'],
      producerAccounts: ['111111111111', '222222222222'],
      removalProtection: false,
      logRetentionDays: 7,
      smsMaxPrice: 0.5,
      typeConcurrency: { webhook: 100, sms: 5 },
    });
  });

  it('are read from values, as cdk.json gives them', () => {
    expect(parseSettings({ testsPerDay: 5, removalProtection: false, retryScale: 1 })).toMatchObject({
      testsPerDay: 5,
      removalProtection: false,
      retryScale: 1,
    });
  });

  it.each([
    ['a look-up', 'availability-zones:account=1:region=eu-west-1'],
    ['a feature flag', '@aws-cdk/core:newStyleStackSynthesis'],
    ['the CLI', 'aws:cdk:enable-path-metadata'],
    ['`cdk cli-telemetry --disable`', 'cli-telemetry'],
    ['`cdk acknowledge`', 'acknowledged-issue-numbers'],
  ])('leave alone what the CDK CLI keeps in the same context: %s', (_, key) => {
    expect(parseSettings({ [key]: true })).toEqual(parseSettings({}));
  });
});

describe('a setting that is misspelt', () => {
  it.each(['testPerDay', 'mailfrom', 'MailFrom', 'retry_scale', 'retry-scale', 'toString'])(
    'is named, with those that there are: %s',
    (name) => {
      const attempt = () => parseSettings({ [name]: 'x' });
      expect(attempt).toThrow(`"${name}" is not a setting`);
      for (const known of settingNames) expect(attempt).toThrow(known);
    },
  );
});

describe('a setting that is wrong', () => {
  it.each([
    ['mailFrom', 'nobody'],
    ['mailFrom', 'Ops <ops@example.org>'],
    ['mailReplyTo', 'nobody'],
    ['smsSenderId', 'a b'],
    ['smsSenderId', 'longerThan11'],
    ['smsOriginationNumber', '12025550123'],
    ['smsMaxPrice', '0'],
    ['smsCountries', '49'],
    ['pagerEndpoint', 'ftp://pager.example.com'],
    ['feedEndpoint', 'feed'],
    ['routerEndpoint', 'https://router.example.com/alert?key=1'],
    ['testsPerDay', '-1'],
    ['testsPerDay', '1.5'],
    ['testsPerDay', 'many'],
    ['testsPerDay', ''],
    ['testsPerDay', ' '],
    ['testsPerDay', null],
    ['testsPerDay', true],
    ['testsPerDay', 'Infinity'],
    ['tokenCacheSeconds', '61'],
    ['apiRequestsPerSecond', '0'],
    ['testRequestsPerSecond', '0'],
    ['notificationsPerTenant', '0'],
    ['notificationsPerTenant', '10.5'],
    ['senderConcurrency', '1'],
    ['senderConcurrency', '1001'],
    ['typeConcurrency', 'pigeon=5'],
    ['typeConcurrency', 'webhook=1'],
    ['typeConcurrency', 'webhook'],
    ['dispatchConcurrency', '1'],
    ['retryScale', '1.5'],
    ['retryScale', '-0.1'],
    ['retryScale', ''],
    ['egressAllow', '10.0.0.0'],
    ['egressAllow', '10.0.0.0/33'],
    ['egressAllow', 'localhost'],
    ['producerAccounts', '123'],
    ['linkScheme', 'ftp'],
    ['logRetentionDays', '31'],
    ['removalProtection', 'maybe'],
    ['removalProtection', ''],
    ['deadLetterMail', 'yes'],
    ['domainName', 'https://api.example.org'],
    ['domainName', 'localhost'],
    ['certificateArn', 'arn:aws:iam::111111111111:server-certificate/x'],
    ['hostedZoneId', 'example.org'],
    ['basePath', '/v1/'],
    ['basePath', 'v 1'],
    ['mailIdentity', 'maybe'],
    ['egress', 'vpc'],
    ['memory', '64'],
    ['memory', '20000'],
    ['typeMemory', 'pigeon=512'],
    ['typeMemory', 'webhook=1'],
  ])('is named: %s=%j', (name, value) => {
    expect(() => parseSettings({ [name]: value })).toThrow(new RegExp(`^Wrong setting: ${name}[.:]`));
  });

  it('is named together with all others', () => {
    const attempt = () => parseSettings({ testsPerDay: 'x', mailFrom: 'x', tests: 1 });
    for (const told of ['testsPerDay: ', 'mailFrom: ', '"tests" is not a setting']) expect(attempt).toThrow(told);
  });
});

describe('settings that belong together', () => {
  const certificateArn = 'arn:aws:acm:eu-west-1:111111111111:certificate/0a1b2c3d';
  const domain = { domainName: 'api.example.org', certificateArn };
  const zone = { hostedZoneId: 'Z0123456789ABC', hostedZoneName: 'example.org' };

  it.each([
    ['a domain', domain],
    ['a domain with a path', { ...domain, basePath: 'v1.0/123456' }],
    ['a domain with its record', { ...domain, ...zone }],
    ['a domain that is its zone', { ...domain, domainName: 'example.org', ...zone }],
    ['an identity', { mailIdentity: 'true', mailFrom: 'alerts@example.org' }],
  ])('are taken together: %s', (_, settings) => {
    expect(() => parseSettings(settings)).not.toThrow();
  });

  it.each([
    [{ domainName: 'api.example.org' }, 'certificateArn: is needed with domainName'],
    [{ certificateArn }, 'domainName: is needed with certificateArn'],
    [{ basePath: 'v1' }, 'domainName: is needed with basePath'],
    [zone, 'domainName: is needed with hostedZoneId'],
    [{ ...domain, hostedZoneId: zone.hostedZoneId }, 'hostedZoneName: is needed with hostedZoneId'],
    [{ ...domain, hostedZoneName: 'example.org' }, 'hostedZoneId: is needed with hostedZoneName'],
    [{ ...domain, ...zone, hostedZoneName: 'le.org' }, 'domainName: must lie in hostedZoneName'],
    [{ mailIdentity: true }, 'mailFrom: is needed with mailIdentity'],
  ])('are asked for in one sentence where one is missing or does not fit: %j', (settings, sentence) => {
    expect(() => parseSettings(settings)).toThrow(new RegExp(`^Wrong setting: ${sentence}$`));
  });
});
