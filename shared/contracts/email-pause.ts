/** Why a tenant's emails can be paused: SES acts on the bounces and complaints of an AWS account as a whole. */
export const pauseReasons = ['bounces', 'complaints'] as const;

/** Why the emails of a tenant are paused. */
export type PauseReason = (typeof pauseReasons)[number];
