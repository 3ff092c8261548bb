import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createOutcomeTopic } from '../shared/adapters/outcome-topic.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDeliveryReporter } from '../shared/pipeline/report-deliveries.ts';

const environment = parseEnvironment('report-deliveries');
const { OUTCOMES_TOPIC: topic } = environment;

/** Reports deliveries that do not arrive, and publishes what became of all, with the setting `deliveryOutcomes`. */
export const handler = createDeliveryReporter(
  createDocumentClient(),
  createQueues(),
  topic === undefined ? undefined : createOutcomeTopic(topic),
  environment,
);
