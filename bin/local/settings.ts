import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';

/** Returns the settings of a local stack. Those of the user take precedence, then these, then those of a stage. */
export const localSettings = (options: {
  settings: Record<string, string>;
  strictEgress: boolean;
  inboxUrl: string;
}): Record<string, string> => ({
  linkScheme: 'http',
  // Execution environments are threads, and V8 compiles the code of each: more of them than cores make a storm slower.
  senderConcurrency: String(Math.max(3, availableParallelism())),
  senderConcurrencyByType: 'webhook=64,incidentpager=16,incidentrouter=16',
  dispatchConcurrency: '2',
  pagerEndpoint: `${options.inboxUrl}/pager`,
  routerEndpoint: `${options.inboxUrl}/router`,
  feedEndpoint: `${options.inboxUrl}/feed`,
  // The local stack has no tables of a stage, the concurrency above, and must not report to anyone of a stage.
  ...(options.settings.stage !== undefined && {
    existingTables: '',
    developmentStage: 'false',
    alarmTarget: 'alarms@local.example',
    heartbeatUrl: `${options.inboxUrl}/webhooks/${HEARTBEAT_TENANT}`,
  }),
  ...(options.strictEgress ? {} : { egressAllow: '127.0.0.0/8,::1/128' }),
  ...options.settings,
});

/** Adds a setting of the form `name=value` (the argument of `-c`). @throws InvalidArgumentError */
export const addSetting = (text: string, settings: Record<string, string> = {}): Record<string, string> => {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...settings, [name]: value };
  throw new InvalidArgumentError('It must have the form name=value.');
};
