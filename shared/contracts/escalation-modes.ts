/** The values of the setting `escalateUnreached`: who is notified of an alert that reached nobody. */
export const escalationModes = ['contacts+managed', 'contacts', 'off'] as const;
