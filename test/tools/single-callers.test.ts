import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { findSecondCallers } from '../checks/single-callers.ts';

it.each([
  'shared/pipeline/email-sender.ts',
  'shared/pipeline/transports/sms.ts',
  'shared/pipeline/batch-consumer.ts',
  'shared/pipeline/sender/requeue.ts',
  'shared/adapters/ses.ts',
  'shared/adapters/sns.ts',
  'shared/adapters/outcome-topic.ts',
])('%s may send, and a copy of it may not', (file) => {
  const source = readFileSync(file, 'utf8');
  expect(findSecondCallers(source, file)).toEqual([]);
  expect(findSecondCallers(source, file.replace('.ts', '-copy.ts'))).not.toEqual([]);
});

it('no other file may send an SMS, with whichever syntax', () => {
  const sendingSms = ['new PublishCommand({ PhoneNumber, Message })', "await import('@aws-sdk/client-sns')"];
  for (const source of sendingSms) expect(findSecondCallers(source, 'shared/api/new.ts')).toHaveLength(1);
});
