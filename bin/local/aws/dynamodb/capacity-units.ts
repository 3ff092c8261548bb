const READ_UNIT_BYTES = 4096;
const WRITE_UNIT_BYTES = 1024;

/** What reading so many bytes consumes, in read units: half as much when eventually consistent. */
export const readUnits = (bytes: number, isConsistent: boolean): number =>
  Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (isConsistent ? 1 : 0.5);

/** What writing an item of so many bytes consumes, in write units: of the larger of the old and the new one. */
export const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
