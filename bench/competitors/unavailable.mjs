/** A competitor that cannot do a work, and says so. */
export class UnavailableError extends Error {}
