/** A request to the local AWS endpoint, with its body read. */
export type AwsCall = {
  /** The signing name of the service: `dynamodb`, `sqs`, `sns`, `ses`, `lambda`, `monitoring` (CloudWatch). */
  service: string;
  action: string;
  /** The access key that signed the request: `local-<function name>` for a Lambda function of the stack. */
  caller: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** The parsed body of a JSON protocol, if the caller has it: then nothing needs to be parsed. */
  input?: unknown;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
};

/** The response of a service. */
export type AwsResponse = {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
  /** What the body of a JSON protocol contains. */
  output?: object;
};

/** A service of the endpoint. It returns errors in its protocol; if it throws, the endpoint responds with 500. */
export type AwsService = (call: AwsCall) => Promise<AwsResponse> | AwsResponse;

/** An error response; `type` is the name that SDKs use (`ThrottlingException`, `Throttling`, ...). */
export type AwsFault = {
  status: number;
  type: string;
  message: string;
  headers?: Record<string, string>;
  /** Additional members of the error body, in the JSON protocols only. */
  members?: Record<string, unknown>;
};

/** The account and region of all local resources. */
export const LOCAL_ENV = { account: '000000000000', region: 'us-east-1' } as const;

/** Returns the environment variables with which the AWS CLI and SDKs use the local AWS at this address. */
export const clientEnvironment = (endpointUrl: string): Record<string, string> => ({
  AWS_ENDPOINT_URL: endpointUrl,
  AWS_REGION: LOCAL_ENV.region,
  // The SDK for Python and version 1 of the CLI read only this one.
  AWS_DEFAULT_REGION: LOCAL_ENV.region,
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
});

/** Returns the response of an action in the JSON protocols, whose body is built only if it is read. */
export const jsonResult = (output: object): AwsResponse => ({
  status: 200,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  output,
  get body() {
    return JSON.stringify(output);
  },
});

/** Returns an error in the JSON protocols (DynamoDB, SQS, Lambda). */
export const jsonFault = ({ status, type, message, headers, members }: AwsFault): AwsResponse => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-errortype': type, ...headers },
  body: JSON.stringify({ __type: type, message, Message: message, ...members }),
});

/** Returns an error in the query protocol (SNS, SES). */
export const xmlFault = ({ status, type, message, headers }: AwsFault): AwsResponse => {
  const sender = status < 500 ? 'Sender' : 'Receiver';
  return {
    status,
    headers: { 'content-type': 'text/xml', ...headers },
    body: `<ErrorResponse><Error><Type>${sender}</Type><Code>${escapeXml(type)}</Code><Message>${escapeXml(message)}</Message></Error><RequestId>${crypto.randomUUID()}</RequestId></ErrorResponse>`,
  };
};

/** Returns the response of an action that sent a message in the query protocol (SNS, SES), with a new message ID. */
export const xmlResult = (action: string, namespace: string): AwsResponse => ({
  status: 200,
  headers: { 'content-type': 'text/xml' },
  body: `<${action}Response xmlns="${namespace}"><${action}Result><MessageId>${crypto.randomUUID()}</MessageId></${action}Result><ResponseMetadata><RequestId>${crypto.randomUUID()}</RequestId></ResponseMetadata></${action}Response>`,
});

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes text for XML and HTML, both between tags and in a quoted attribute. */
export const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
