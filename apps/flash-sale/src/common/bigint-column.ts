import { Column } from 'typeorm';

/** A BIGINT that is a number in the code: user ids and fencing tokens stay below 2^53. */
export const BigintColumn = (options: { default?: number } = {}): PropertyDecorator =>
  Column({ ...options, type: 'bigint', transformer: { to: (value: number) => value, from: Number } });
