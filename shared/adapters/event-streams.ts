/**
 * Replaces `@smithy/core/event-streams` in the bundles (`lib/bundles.ts`): for this import on demand, the bundler would
 * wrap most of the SDK in closures. No operation of this service has an event stream.
 */

export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;

export const eventStreamSerdeProvider = (): undefined => undefined;

export class EventStreamSerde {
  constructor() {
    throw new Error('The bundle contains no event streams.');
  }
}
