declare module 'cluster-key-slot' {
  /** The hash slot of a key in a Redis Cluster. */
  export default function slotOf(key: string): number;
}
