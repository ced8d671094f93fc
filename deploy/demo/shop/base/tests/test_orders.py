from shop.orders import average_total


def test_average_of_no_orders_is_zero():
    assert average_total([]) == 0


def test_average():
    assert average_total([{"total": 100}, {"total": 300}]) == 200
