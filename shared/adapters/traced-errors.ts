import { channel } from 'node:diagnostics_channel';

/** The name of the channel `tracedErrors`. */
export const TRACED_ERRORS = 'monitoring-notifications.traced-error';

/**
 * Every error that is logged without its message (`errorTrace`). Nothing subscribes on AWS, so no setting can make the
 * message appear there; the local stack subscribes from outside the bundle and prints it.
 */
export const tracedErrors = channel(TRACED_ERRORS);
