/** Returns the current time, in ms since the epoch. Injected, so that tests need not wait. */
export type Clock = () => number;
