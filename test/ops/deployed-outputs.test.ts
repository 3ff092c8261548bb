import { describe, expect, it } from 'vitest';
import { deployedAddresses } from '../deployed/outputs.ts';

const url = (name: string) => `https://sqs.eu-west-1.amazonaws.com/111111111111/${name}`;
const outputs = {
  BaseUrl: 'https://api.example.org',
  AlarmEventsQueueUrl: url('Prod-AlarmEvents'),
  TokensTable: 'tokens',
  AccountsTable: 'accounts',
  DeliveriesTable: 'deliveries',
  AuditsTable: 'audits',
  QueueUrls: JSON.stringify({
    'alarm-events': { queue: url('Prod-AlarmEvents'), deadLetters: url('Prod-AlarmEv-1') },
    webhook: { queue: url('Prod-webhook'), retries: url('Prod-webhook-2'), deadLetters: url('Prod-webh-3') },
    crashed: { queue: url('Prod-Crashed') },
  }),
};

describe('the outputs of a deployed stack', () => {
  it('contain the URLs of its queues, regardless of the generated names', () => {
    const stack = deployedAddresses(JSON.stringify({ Prod: outputs }));
    expect(stack.queues).toEqual(
      ['Prod-AlarmEvents', 'Prod-AlarmEv-1', 'Prod-webhook', 'Prod-webhook-2', 'Prod-webh-3', 'Prod-Crashed'].map(url),
    );
    expect(stack.dead_letter_queues).toEqual({ 'alarm-events': url('Prod-AlarmEv-1'), webhook: url('Prod-webh-3') });
  });

  it.each([
    [
      'two stacks',
      { Prod: outputs, 'Prod-Staging': outputs },
      'The file must contain the outputs of one stack, not of 2.',
    ],
    ['no stack', {}, 'The file must contain the outputs of one stack, not of 0.'],
  ])('are rejected if they contain %s', (_, content, message) => {
    expect(() => deployedAddresses(JSON.stringify(content))).toThrow(message);
  });
});
