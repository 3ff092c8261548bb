import { type AwsResponse, jsonFault } from '../aws-service.ts';

export class DynamoDbError extends Error {
  override name = 'DynamoDbError';
  readonly type: string;
  readonly members: Record<string, unknown>;

  /** `type` with its namespace; `members` are those of the body besides the message. */
  constructor(type: string, message: string, members: Record<string, unknown> = {}) {
    super(message);
    this.type = type;
    this.members = members;
  }

  get response(): AwsResponse {
    return jsonFault({ status: 400, type: this.type, message: this.message, members: this.members });
  }
}

export const exception = (name: string, message: string, members?: Record<string, unknown>): DynamoDbError =>
  new DynamoDbError(`com.amazonaws.dynamodb.v20120810#${name}`, message, members);

/** Creates the error for an invalid value. */
export const validationError = (message: string): DynamoDbError =>
  new DynamoDbError('com.amazon.coral.validate#ValidationException', message);

/** Creates the error for a body that cannot be read. */
export const serializationError = (message: string): DynamoDbError =>
  new DynamoDbError('com.amazon.coral.service#SerializationException', message);

/** Creates the error of a write whose condition is not met; `Item` is the item if the request asks for it. */
export const conditionFailed = (Item?: object): DynamoDbError =>
  exception('ConditionalCheckFailedException', 'The conditional request failed', Item && { Item });

/** The error for an item that is too large after a put; an update has another message. */
export const itemTooLarge = (isUpdate = false): DynamoDbError =>
  validationError(`Item size ${isUpdate ? 'to update ' : ''}has exceeded the maximum allowed size`);
