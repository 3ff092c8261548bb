/** Prices of us-east-1 in 2026, in USD, without a free tier. A month has 30 days unless a price is per hour. */
export const PRICES = {
  lambdaGbSecond: 0.0000133334,
  lambdaRequest: 0.2 / 1e6,
  dynamoWriteUnit: 0.625 / 1e6,
  dynamoReadUnit: 0.125 / 1e6,
  /** Per GB and month, with point-in-time recovery. */
  dynamoStorageGb: 0.25 + 0.2,
  /** For up to ten messages, without their deliveries, which are free to SQS and Lambda. */
  snsPublish: 0.5 / 1e6,
  sqsRequest: 0.4 / 1e6,
  /** In addition to a request, for a message with a group ID on a standard queue. */
  sqsFairQueue: 0.1 / 1e6,
  logsByte: 0.5 / 1e9,
  /** Out of AWS, of the first 10 TB of a month. */
  internetGb: 0.09,
  email: 0.1 / 1e3,
  /** One message part in the US, without carrier fees. */
  sms: 0.0065,
  /** Per month in which it always has values. */
  customMetric: 0.3,
  /** Per month and metric that an alarm reads, of standard resolution. */
  alarmMetric: 0.1,
  dashboard: 3,
  insightRule: 0.5,
  /** Per month without rotations: each of the first two adds as much. */
  key: 1,
  /** Per invocation of EventBridge Scheduler. */
  scheduledCall: 1 / 1e6,
  /** Without the data that it processes. */
  natGatewayHour: 0.045,
  /** Whether or not it is in use. */
  publicAddressHour: 0.005,
} as const;
