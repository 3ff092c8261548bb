import { createOutcomeTopic } from '../shared/adapters/outcome-topic.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createOutcomePublisher } from '../shared/pipeline/outcome-publisher.ts';

const environment = parseEnvironment('publish-outcomes');

/** Publishes the outcomes of deliveries from the stream of the Deliveries table. */
export const handler = createOutcomePublisher(
  createOutcomeTopic(environment.OUTCOMES_TOPIC),
  environment.RETRY_DELAY_SCALE,
);
