/** The values of the setting `escalateUnreached`: who is notified of an alert that reached nobody. */
export const escalationModes = ['contacts+managed', 'contacts', 'off'] as const;

/** A value of the setting `escalateUnreached`. */
export type EscalationMode = (typeof escalationModes)[number];
