from shop.orders import average_total


def test_average():
    assert average_total([{"total": 100}, {"total": 300}]) == 200
