const readUnitBytes = 4096;
const writeUnitBytes = 1024;

/** What reading so many bytes consumes, in read units: half as much when eventually consistent. */
export function readUnits(bytes: number, isConsistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / readUnitBytes)) * (isConsistent ? 1 : 0.5);
}

/** What writing an item of so many bytes consumes, in write units: of the larger of the old and the new one. */
export function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / writeUnitBytes));
}
