import { describe, expect, it } from 'vitest';
import { deployedAddresses } from '../deployed/outputs.ts';

const url = (name: string) => `https://sqs.eu-west-1.amazonaws.com/111111111111/${name}`;
const outputs = {
  BaseUrl: 'https://api.example.org',
  AlarmEventsQueueUrl: url('Ours-AlarmEvents'),
  TokensTable: 'tokens',
  AccountsTable: 'accounts',
  DeliveriesTable: 'deliveries',
  QueueUrls: JSON.stringify({
    'alarm-events': { queue: url('Ours-AlarmEvents'), deadLetters: url('Ours-AlarmEv-1') },
    webhook: { queue: url('Ours-webhook'), retries: url('Ours-webhook-2'), deadLetters: url('Ours-webh-3') },
    crashed: { queue: url('Ours-Crashed') },
  }),
};

describe('the outputs of a deployed stack', () => {
  it('contain the URLs of its queues, regardless of the generated names', () => {
    const stack = deployedAddresses(JSON.stringify({ Ours: outputs }));
    expect(stack.queues).toEqual(
      ['Ours-AlarmEvents', 'Ours-AlarmEv-1', 'Ours-webhook', 'Ours-webhook-2', 'Ours-webh-3', 'Ours-Crashed'].map(url),
    );
    expect(stack.dead_letter_queues).toEqual({ 'alarm-events': url('Ours-AlarmEv-1'), webhook: url('Ours-webh-3') });
  });

  it.each([
    [
      'two stacks',
      { Ours: outputs, 'Ours-Staging': outputs },
      'The file must contain the outputs of one stack, not of 2.',
    ],
    ['no stack', {}, 'The file must contain the outputs of one stack, not of 0.'],
  ])('are rejected if they contain %s', (_, content, message) => {
    expect(() => deployedAddresses(JSON.stringify(content))).toThrow(message);
  });
});
