import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { PositiveIntPipe } from './positive-int.pipe.js';

const RequestHeader = createParamDecorator((name: string, context: ExecutionContext) =>
  context.switchToHttp().getRequest<Request>().header(name),
);

/** The user who asks. Anybody can send a header: a real app takes the user from its auth guard. */
export const UserId = (): ParameterDecorator => RequestHeader('x-user-id', PositiveIntPipe);
