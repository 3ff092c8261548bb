/** Settings that add every optional resource to the stack. */
export const allSettings: Record<string, string> = {
  emailFrom: 'alerts@example.org',
  emailReplyTo: 'reply@example.org',
  emailIdentity: 'true',
  smsSenderId: 'ALERTS',
  smsOriginationNumber: '+12025550123',
  smsMaxPriceUsd: '0.5',
  expectedEventIntervalMinutes: '60',
  heartbeatUrl: 'https://monitor.example.org/push/abc',
  feedEndpoint: 'https://feed.example.org/alerts',
  domainName: 'api.example.org',
  certificateArn: 'arn:aws:acm:eu-west-1:111111111111:certificate/0a1b2c3d-0000-4000-8000-000000000000',
  hostedZoneId: 'Z0123456789ABC',
  hostedZoneName: 'example.org',
  basePath: 'v1.0/123456',
  egress: 'static',
  producerAccounts: '222222222222',
};
