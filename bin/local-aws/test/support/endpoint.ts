import type { AwsService } from '../../aws-service.ts';
import { createEndpoint, type Endpoint } from '../../endpoint.ts';
import { close, listen, origin } from '../../http.ts';

/** An endpoint and the SDK client settings to reach it. */
export type TestEndpoint = {
  endpoint: Endpoint;
  client: {
    endpoint: string;
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
    maxAttempts: number;
  };
  stop(): Promise<void>;
};

export const startEndpoint = async (services: Record<string, AwsService>): Promise<TestEndpoint> => {
  const endpoint = createEndpoint();
  for (const [name, service] of Object.entries(services)) endpoint.services.set(name, service);
  const url = origin(await listen(endpoint.server));
  return {
    endpoint,
    client: {
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local-test', secretAccessKey: 'local' },
      maxAttempts: 1,
    },
    stop: () => close(endpoint.server),
  };
};
