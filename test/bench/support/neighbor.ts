/** The name of the entity in an alert of a neighbor: requests with it send the alert. */
export const NEIGHBOR = 'bench-neighbor';
