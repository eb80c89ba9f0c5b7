// What code blocks of the documentation use without showing it, where `<!-- prelude: shop -->` stands before them.
// No imports: a block shows those itself, and its file must not have them twice.

export declare class Order {
  id: number;
  userId: number;
  status: 'pending' | 'completed';
  fence: number;
}

export declare class Receipt {
  id: string;
}

export declare const locks: import('nestjs-redis-lock').LockService;
export declare const dataSource: import('typeorm').DataSource;
export declare const id: number;
export declare const token: number;

export declare function placeOrder(userId: number, voucherId: number): Promise<Order>;
export declare function pay(options: { signal: AbortSignal; fence: number }): Promise<Receipt>;
export declare function restock(): Promise<number>;
export declare function Transactional(): MethodDecorator;
