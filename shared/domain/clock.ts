/** Returns the current time in ms since the epoch. */
export type Clock = () => number;
