/** Names that only these files contain: emails, SMS, and messages that return or are sent later go through one function. */
const singleCallers: readonly (readonly [name: RegExp, files: readonly string[]])[] = [
  [/\bcreateSesClient\b/, ['shared/adapters/ses.ts', 'shared/pipeline/email-sender.ts']],
  [/@aws-sdk\/client-ses/, ['shared/adapters/ses.ts']],
  [/\bpublishSms\b/, ['shared/adapters/sns.ts', 'shared/pipeline/transports/sms.ts']],
  [/@aws-sdk\/client-sns/, ['shared/adapters/sns.ts', 'shared/adapters/outcome-topic.ts']],
  [/\bPhoneNumber\b/, ['shared/adapters/sns.ts']],
  [/\.changeVisibility\(/, ['shared/pipeline/batch-consumer.ts']],
  [/\.sendDelayed\(/, ['shared/pipeline/sender/requeue.ts', 'shared/pipeline/notices/notice-queue.ts']],
];

/** Returns the names in a file of the service that others own. @param file its path in the repository */
export const findSecondCallers = (source: string, file: string): string[] =>
  singleCallers.filter(([name, files]) => !files.includes(file) && name.test(source)).map(([name]) => name.source);
