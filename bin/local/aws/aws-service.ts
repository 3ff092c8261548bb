/** One call that came to the local AWS endpoint, its body read. */
export interface AwsCall {
  /** The service by its signing name: `dynamodb`, `sqs`, `sns`, `ses`, `lambda`. */
  service: string;
  action: string;
  /** The access key that signed it: `local-<function name>` for a Lambda of the stack. */
  caller: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Aborted when the caller hangs up. */
  signal: AbortSignal;
}

/** What a service answers. */
export interface AwsAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

/** A service of the endpoint. It answers errors in its own protocol; what it throws becomes a 500. */
export type AwsService = (call: AwsCall) => Promise<AwsAnswer> | AwsAnswer;

/** An error to answer with: `type` as the SDK knows it (`ThrottlingException`, `Throttling`, ...). */
export interface AwsFault {
  status: number;
  type: string;
  message: string;
  headers?: Record<string, string>;
  /** Further members of the error, in the JSON protocols. */
  members?: Record<string, unknown>;
}

/** The account and region that everything local claims to be in. */
export const local = { account: '000000000000', region: 'us-east-1' } as const;

/** An error in the form of the JSON protocols (DynamoDB, SQS, Lambda). */
export function jsonFault({ status, type, message, headers, members }: AwsFault): AwsAnswer {
  return {
    status,
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-errortype': type, ...headers },
    body: JSON.stringify({ __type: type, message, Message: message, ...members }),
  };
}

/** An error in the form of the query protocol (SNS, SES). */
export function xmlFault({ status, type, message, headers }: AwsFault): AwsAnswer {
  const sender = status < 500 ? 'Sender' : 'Receiver';
  return {
    status,
    headers: { 'content-type': 'text/xml', ...headers },
    body: `<ErrorResponse><Error><Type>${sender}</Type><Code>${escapeXml(type)}</Code><Message>${escapeXml(message)}</Message></Error><RequestId>${crypto.randomUUID()}</RequestId></ErrorResponse>`,
  };
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text as it may stand in XML and HTML, between tags or in a quoted attribute. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
