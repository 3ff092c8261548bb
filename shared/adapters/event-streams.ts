/*
 * Replaces `@smithy/core/event-streams` in the bundles (`lib/bundles.ts`). No operation of this service has an event
 * stream, but the SDK imports the module on demand, for which the bundler would wrap most of the SDK in closures.
 */

/** Returns the configuration of a client unchanged. */
export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;

/** Returns nothing, because no operation has an event stream. */
export const eventStreamSerdeProvider = (): undefined => undefined;

/** Fails, because no operation has an event stream. */
export class EventStreamSerde {
  constructor() {
    throw new Error('The bundle contains no event streams.');
  }
}
