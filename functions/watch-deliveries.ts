import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDeliveryWatch } from '../shared/pipeline/watch-deliveries.ts';

/** Sends what failed or ended, as the stream of the Deliveries table shows it, to the queue of delivery reports. */
export const handler = createDeliveryWatch(createQueues(), parseEnvironment('watch-deliveries'));
