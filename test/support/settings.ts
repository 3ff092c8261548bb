import { MAX_STACK_NAME_LENGTH } from '../../lib/app.ts';
import { MAX_TAGS, MAX_TAGS_LENGTH } from '../../lib/settings.ts';

/** Settings that add every optional resource to the stack. */
export const allSettings: Record<string, string> = {
  emailFrom: 'alerts@example.org',
  emailReplyTo: 'reply@example.org',
  emailIdentity: 'true',
  smsSenderId: 'ALERTS',
  smsOriginationNumber: '+12025550123',
  smsMaxPriceUsd: '0.5',
  expectedEventIntervalMinutes: '60',
  heartbeatUrl: 'https://monitor.example.org/push/abc',
  alarmUrl: 'https://console.example.org/{tenant_id}/alarms/{alarm_id}?entity={entity_id}',
  feedEndpoint: 'https://feed.example.org/alerts',
  domainName: 'api.example.org',
  certificateArn: 'arn:aws:acm:eu-west-1:111111111111:certificate/0a1b2c3d-0000-4000-8000-000000000000',
  hostedZoneId: 'Z0123456789ABC',
  hostedZoneName: 'example.org',
  basePath: 'v1.0/123456',
  egress: 'static',
  deliveryOutcomes: 'true',
  producerAccounts: '222222222222',
};

/** The most tags with the most text, one of which has the longest name and value. */
const longestTags = (): string => {
  const [first, others] = [`${'n'.repeat(128)}=${'v'.repeat(256)}`, MAX_TAGS - 1];
  const length = MAX_TAGS_LENGTH - (first.length - 1);
  const lengthOf = (index: number) => Math.floor(length / others) + (index < length % others ? 1 : 0);
  const tags = Array.from({ length: others }, (_, index) => `${index + 10}=`.padEnd(lengthOf(index) + 1, 'x'));
  return [first, ...tags].join();
};

/** The longest texts that functions read, the longest lists, and the most tags. */
export const longest = {
  egressAllow: Array.from({ length: 63 }, () => '10.0.0.0/8').join(','),
  smsCountries: Array.from({ length: 175 }, () => '+49').join(','),
  pagerEndpoint: `https://pager.example.org/${'x'.repeat(174)}`,
  heartbeatUrl: `https://monitor.example.org/${'x'.repeat(172)}`,
  alarmUrl: `https://console.example.org/{tenant_id}/{alarm_id}/${'x'.repeat(149)}`,
  producerAccounts: Array.from({ length: 50 }, (_, index) => 222_222_222_200 + index).join(','),
  tags: longestTags(),
};

/** Values that differ from the defaults, and the longest name and texts, with every optional resource. */
export const otherSettings: Record<string, string> = {
  ...allSettings,
  ...longest,
  stackName: 'x'.repeat(MAX_STACK_NAME_LENGTH),
  alarmTarget: 'ops@example.org',
  apiRequestsPerSecond: '300',
  deletionProtection: 'false',
  dispatchConcurrency: '5',
  existingTables: 'Tokens=old.Tokens_1',
  expectedEventIntervalMinutes: '1440',
  lambdaConcurrencyQuota: '2000',
  logRetentionDays: '7',
  memoryMb: '320',
  memoryMbByType: 'webhook=1024',
  reserveConcurrency: 'true',
  retryDelayScale: '0.001',
  basePath: 'x'.repeat(300),
  runbookUrl: `https://wiki.example.org/${'x'.repeat(175)}`,
  senderConcurrency: '2',
  senderConcurrencyByType: 'webhook=101',
  smsMonthlyBudgetUsd: '50',
  testRequestsPerSecond: '7',
};

/** The stacks whose templates are tested, each synthesized once for all files of a worker. */
export const stackSettings: Record<string, Record<string, unknown>> = {
  'by default': {},
  'with all settings': allSettings,
  'with other values': otherSettings,
  'for development': { developmentStage: true },
};
