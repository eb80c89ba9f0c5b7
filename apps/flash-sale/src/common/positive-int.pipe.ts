import { BadRequestException, Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';

/** Takes a positive integer in its only canonical form: `7`, but neither `07` nor `7.0` nor `7e0`. Everything else answers 400. */
@Injectable()
export class PositiveIntPipe implements PipeTransform<unknown, number> {
  transform(value: unknown, { data = 'value' }: ArgumentMetadata): number {
    const number = typeof value === 'string' && /^[1-9]\d*$/.test(value) ? Number(value) : NaN;
    if (Number.isSafeInteger(number)) return number;
    throw new BadRequestException(`${data} must be a positive integer`);
  }
}
