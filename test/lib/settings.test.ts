import { describe, expect, it } from 'vitest';
import { PLACEHOLDER_SENDER, parseSettings, settingNames } from '../../lib/settings.ts';

describe('the settings of a deploy', () => {
  it('need nothing: each has a default that works', () => {
    expect(parseSettings({})).toMatchObject({
      mailFrom: PLACEHOLDER_SENDER,
      testsPerDay: 200,
      tokenCacheSeconds: 60,
      apiRequestsPerSecond: 200,
      testRequestsPerSecond: 10,
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
  ])('is named: %s=%j', (name, value) => {
    expect(() => parseSettings({ [name]: value })).toThrow(new RegExp(`^Wrong setting: ${name}[.:]`));
  });

  it('is named together with all others', () => {
    const attempt = () => parseSettings({ testsPerDay: 'x', mailFrom: 'x', tests: 1 });
    for (const told of ['testsPerDay: ', 'mailFrom: ', '"tests" is not a setting']) expect(attempt).toThrow(told);
  });
});
