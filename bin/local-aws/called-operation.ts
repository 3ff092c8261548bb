/** The operation that a request calls. `service` is undefined if only the signature identifies it. */
export type CalledOperation = { service: string | undefined; action: string; protocol: 'json' | 'query' | 'rest' };

const SERVICE_BY_TARGET = new Map([
  ['DynamoDB_20120810', 'dynamodb'],
  ['GraniteServiceVersion20100801', 'monitoring'],
  ['AmazonSQS', 'sqs'],
  ['Logs_20140328', 'logs'],
]);

/** The services with the query protocol, by the version of their API. */
const SERVICE_BY_VERSION = new Map([
  ['2010-03-31', 'sns'],
  ['2010-05-15', 'cloudformation'],
  ['2010-12-01', 'ses'],
  ['2011-06-15', 'sts'],
]);

/**
 * Identifies the operation as its service does, without the signature: by the target header (JSON protocols), the path
 * (Lambda), or the parameters of the query protocol.
 *
 * @param target the header `x-amz-target`
 */
export const calledOperation = (target: string | undefined, path: string, body: Buffer): CalledOperation => {
  if (target !== undefined) {
    const [api = '', action = ''] = target.split('.');
    return { service: SERVICE_BY_TARGET.get(api) ?? api, action, protocol: 'json' };
  }
  if (/^\/\d{4}-\d\d-\d\d\//.test(path)) {
    return { service: 'lambda', action: path.endsWith('/invocations') ? 'Invoke' : '', protocol: 'rest' };
  }
  const form = new URLSearchParams(body.toString());
  const service = SERVICE_BY_VERSION.get(form.get('Version') ?? '');
  return { service, action: form.get('Action') ?? '', protocol: 'query' };
};
