import { Annotations, type Stack } from 'aws-cdk-lib';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { PLACEHOLDER_SENDER, type Settings } from './settings.ts';

/** The memory that a function can have in a new AWS account, in MB. */
const NEW_ACCOUNT_MEMORY_MB = 3_008;

/** Adds warnings about settings. Call it after all event sources have been added. */
export const addWarnings = (stack: Stack, settings: Settings): void => {
  const { lambdaConcurrencyQuota, memoryMb = 0, memoryMbByType, smsCountries, smsPerTenantPerDay } = settings;
  const maxConcurrency = maxConcurrencyOf(stack);
  const aboveMemory = (name: string) =>
    `${name} is above 3,008 MB, the limit of new AWS accounts: there, the deployment fails and rolls back until AWS has raised the limit (docs/operations.md#1-lambda-quotas).`;
  const warnings: [id: string, applies: boolean, message: string][] = [
    [
      'feedEndpoint',
      settings.feedEndpoint === undefined,
      'Notifications of type atomfeed are not delivered until the setting feedEndpoint is the URL of an AtomPub collection.',
    ],
    [
      'emailFrom',
      settings.emailFrom === PLACEHOLDER_SENDER,
      `Emails are not delivered until the setting emailFrom is an address that SES has verified. It is ${PLACEHOLDER_SENDER}.`,
    ],
    ...Object.entries(settings.existingTables).map(([table, name]): (typeof warnings)[number] => [
      `existingTables:${table}`,
      true,
      `The stack does not manage its ${table} table, ${name}: no deployment protects or deletes it. Import it and remove the setting existingTables (docs/operations.md#restore-a-table).`,
    ]),
    [
      'alarmTarget',
      settings.alarmTarget === undefined && !settings.developmentStage,
      'Nobody receives the alarms: set alarmTarget to an email address or a topic, or developmentStage to true (docs/operations.md#7-alarms-reach-a-person).',
    ],
    [
      'smsCountries',
      smsCountries.length === 0 && smsPerTenantPerDay > 0,
      'SMS go to every country, at its price: set smsCountries to the countries of your recipients, or smsPerTenantPerDay to 0 if no tenant uses SMS (docs/operations.md#3-sms-origination-and-spending-limit).',
    ],
    [
      'lambdaConcurrencyQuota',
      maxConcurrency >= lambdaConcurrencyQuota,
      `The event sources can use ${maxConcurrency} concurrent executions, and lambdaConcurrencyQuota is ${lambdaConcurrencyQuota}: under load Lambda throttles the senders, dispatch and the API. Request a higher quota and set lambdaConcurrencyQuota to it (docs/operations.md#1-lambda-quotas), or lower senderConcurrency, senderConcurrencyByType or dispatchConcurrency.`,
    ],
    ['memoryMb', memoryMb > NEW_ACCOUNT_MEMORY_MB, aboveMemory('memoryMb')],
    [
      'memoryMbByType',
      Object.values(memoryMbByType).some((memory) => memory > NEW_ACCOUNT_MEMORY_MB),
      aboveMemory('memoryMbByType'),
    ],
  ];
  for (const [id, applies, message] of warnings) {
    if (applies) Annotations.of(stack).addWarningV2(`notifications:${id}`, message);
  }
};

/**
 * Returns how many executions the event sources of the stack can use at the same time. An event source without a
 * maximum counts as 0.
 */
const maxConcurrencyOf = (stack: Stack): number =>
  stack.node.findAll().reduce((total, construct) => {
    const scaling = construct instanceof CfnEventSourceMapping ? construct.scalingConfig : undefined;
    return total + (scaling && 'maximumConcurrency' in scaling ? (scaling.maximumConcurrency ?? 0) : 0);
  }, 0);
