declare module 'cluster-key-slot' {
  /** Returns the slot of a key, from 0 to 16,383. */
  export default function calculateSlot(key: string): number;
}
