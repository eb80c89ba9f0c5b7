/**
 * Whether the database guards the sale as well: the unique index on user + voucher and `stock > 0` in the statement that takes
 * one from the stock. FLASH_SALE_SAFETY_NETS=off exists for the demo alone, to show what the lock covers by itself and what not.
 */
export const safetyNets = process.env.FLASH_SALE_SAFETY_NETS !== 'off';
