"""Work of supernets in closed form, from the papers' descriptions: nothing is built or run."""

import nasbench1shot1 as nb


def choice_block_multiply_adds(space: nb.OneShotSpace, channels: int, cells: int, side: int = 32) -> int:
    """Multiply-adds of all parts of a supernet of choice blocks for one image: section 3 of NAS-Bench-1Shot1.

    Every block has a projection of the cell's input, a 3×3 and a 1×1 convolution; the output has a projection, too.
    """
    blocks, total = space.n_blocks, 27 * channels * side**2  # type: ignore[attr-defined]
    before, width = channels, channels
    for cell in range(cells):
        if cell in {cells // 3, 2 * cells // 3} - {0}:
            side, width = side // 2, 2 * width
        total += side**2 * (2 * blocks * before * width + blocks * 10 * width**2)
        before = blocks * width
    return int(total + side**2 * before * width + 10 * width)
